import { randomUUID } from 'node:crypto';
import type { TaskList } from 'graphile-worker';
import { administrationIn } from '../../domain/administration.ts';
import { readScheduledDeletion } from '../../domain/erasure/request-deletion.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { invitationUrl, makeInvitationLink, noteDelivery } from '../../domain/invitations/mailed-link.ts';
import { unsubscribeUrl } from '../../domain/notifications/unsubscribe-token.ts';
import type { SecondFactorChange } from '../../domain/second-factor/second-factor.ts';
import { insertPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../../domain/sign-in/password-links.ts';
import {
  type LinkRequest,
  makeSignInLink,
  signInLinkMinutes,
  signInLinkUrl,
} from '../../domain/sign-in/sign-in-links.ts';
import { readExpiryNotice } from '../../domain/tokens/expiry-notices.ts';
import { type AddressField, addressLinkHours, addressUrl, isAddressWanted } from '../../domain/users/change-address.ts';
import { readMailRecipient } from '../../domain/users/find-user.ts';
import { t } from '../../text/catalogue.ts';
import { forEachLanguage, readerOf, writeFor } from '../../text/language.ts';
import { shortLine } from '../../text/plain-text.ts';
import { deliver } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { requireMailer } from './mailer.ts';
import { type MailContent, writeLinkMail, writeSubscribedMail } from './write-mail.ts';

interface AccountMail {
  to: string;
  /** The id of the recipient for the log, which must not contain e-mail addresses. Undefined if there is no user. */
  userId?: number | undefined;
  /** The language of the recipient's profile. */
  language: string | null;
  /** Writes the mail in the language of the recipient. */
  write(): MailContent;
  /** The unsubscribe link at the end of the mail. Undefined for a mail that the recipient must get. */
  unsubscribeUrl?: string;
  /** Records whether the mail was sent. */
  settle?(outcome: 'mailed' | 'refused'): Promise<unknown>;
}

/** The kinds of changes that a security notice reports to a user. */
type Notice = 'password' | 'address' | `second_factor_${SecondFactorChange}`;

/** The maximum length of a name in a subject. Mail programs cut long subjects. */
const maxNameInSubject = 60;
const maxNameLength = 100;

const hourMs = 3_600_000;

/** The formats of times in mails. They show UTC, because the reader's time zone is unknown. */
const times = forEachLanguage(
  locale => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
);

/**
 * Builds the tasks that each send one mail about an account or a sign-in. A task sends nothing if its mail is no longer
 * needed. If the mail has a secret link, the task creates the link. So the link is only in the mail, not in the
 * database.
 */
export function buildAccountMailTasks(deps: TaskDependencies) {
  const { config, database, clock, audit, addressTokens, logger, metrics, unsubscribeTokens } = deps;
  const ifMailed = requireMailer(deps);

  return {
    /**
     * The user id is null for an unknown e-mail address. Each try to send the mail creates its own link. If a try
     * fails, nobody gets its link, and the link expires.
     */
    mail_password_link: mailTask<{ user_id: number | null }>('password', async ({ user_id: userId }) => {
      const link = userId === null ? undefined : await insertPasswordLink(database, userId, clock.now());
      if (userId === null || !link) return undefined;
      const write = () =>
        writeLinkMail({
          subject: t('mails.password_link.subject'),
          purpose: t('mails.password_link.purpose', { minutes: passwordLinkMinutes }),
          link: { label: t('mails.password_link.link'), url: passwordLinkUrl(config, link.token) },
          otherwise: t('mails.password_link.otherwise'),
        });
      return { to: link.email, userId, language: link.language, write };
    }),

    /** An address that can neither sign in nor sign up gets no mail. Otherwise anybody could send mails to strangers. */
    mail_sign_in_link: mailTask<LinkRequest>('sign-in', async request => {
      const link = await makeSignInLink(database, request, clock.now());
      if (!link) return undefined;
      const { email: to, userId, language, account, token } = link;
      const url = signInLinkUrl(config, token);
      const minutes = signInLinkMinutes;
      const writeSignIn = () =>
        writeLinkMail({
          subject: t('mails.sign_in_link.subject'),
          purpose: t('mails.sign_in_link.purpose', { minutes }),
          link: { label: t('mails.sign_in_link.link'), url },
          otherwise: t('mails.sign_in_link.otherwise'),
        });
      const writeJoin = (name: string) =>
        writeLinkMail({
          subject: t('mails.join_link.subject', { account: shownAccount(name, maxNameInSubject) }),
          sentence: t('mails.join_link.sentence', { account: shownAccount(name, maxNameLength) }),
          purpose: t('mails.join_link.purpose', { minutes }),
          link: { label: t('mails.join_link.link'), url },
          otherwise: t('mails.sign_in_link.otherwise'),
        });
      return { to, userId, language, write: () => (account ? writeJoin(account.name) : writeSignIn()) };
    }),

    mail_password_notice: mailTask<{ user_id: number }>('password-notice', payload =>
      noticeTo(payload.user_id, 'password'),
    ),

    mail_second_factor_notice: mailTask<{ user_id: number; change: SecondFactorChange }>(
      'second-factor-notice',
      ({ user_id: userId, change }) => noticeTo(userId, `second_factor_${change}`),
    ),

    mail_address_notice: mailTask<{ user_id: number }>('address-notice', payload =>
      noticeTo(payload.user_id, 'address'),
    ),

    /**
     * Mails the link that confirms an e-mail address. The mail does not name the user who asked for the link, because
     * the address may belong to another person.
     */
    mail_address_link: mailTask<{ user_id: number; field: AddressField; address: string; basis: string }>(
      'address',
      async ({ user_id: userId, field, address, basis }) => {
        const change = { userId, field, address, basis };
        const user = await readMailRecipient(database, userId);
        if (!user || !(await isAddressWanted(database, change))) return undefined;
        const expiresAt = new Date(clock.now().getTime() + addressLinkHours * hourMs);
        const url = addressUrl(config, addressTokens.make(change, expiresAt));
        const write = () =>
          writeLinkMail({
            subject: t('mails.address_link.subject'),
            purpose: t(`mails.address_link.${field}`, { hours: addressLinkHours }),
            link: { label: t('mails.address_link.link'), url },
            otherwise: t('mails.address_link.otherwise'),
          });
        return { to: address, userId, language: user.language, write };
      },
    ),

    mail_account_deletion: mailTask<{ account_id: number; user_id: number }>(
      'account-deletion',
      async ({ account_id: accountId, user_id: userId }) => {
        const deletion = await readScheduledDeletion(database, accountId, userId);
        if (!deletion) return undefined;
        const { email: to, language, name, slug, scheduled_at } = deletion;
        const erasedFrom = new Date(Date.parse(scheduled_at) + config.ACCOUNT_DELETION_GRACE_DAYS * 24 * hourMs);
        const write = () =>
          writeLinkMail({
            subject: t('mails.account_deletion.subject', { account: shortLine(name, maxNameInSubject, slug) }),
            purpose: t('mails.account_deletion.purpose', {
              account: shortLine(name, maxNameLength, slug),
              time: times().format(erasedFrom),
            }),
            link: { label: t('mails.account_deletion.link'), url: `${config.BASE_URL}/admin/account?account=${slug}` },
            otherwise: t('mails.account_deletion.otherwise'),
          });
        return { to, userId, language, write };
      },
    ),

    /** Mails the issuer of a token that the token expires soon. */
    mail_token_expiry: mailTask<{ account_id: number; token_id: number; notice_days: number }>(
      'token-expiry',
      async ({ account_id: accountId, token_id: tokenId, notice_days: noticeDays }) => {
        const notice = await readExpiryNotice(database, { accountId, tokenId, noticeDays });
        if (!notice) return undefined;
        const { address: to, user_id: userId, language, name, account, slug, expires_at } = notice;
        const endingUrl = unsubscribeUrl(config, unsubscribeTokens.make({ userId, ideaId: 'all' }));
        const write = () => {
          const token = shortLine(name, maxNameInSubject, String(tokenId));
          return writeSubscribedMail({
            subject: t('mails.token_expiry.subject', { token }),
            sentence: t('mails.token_expiry.sentence', {
              token,
              account: shownAccount(account, maxNameLength),
              time: times().format(new Date(expires_at)),
            }),
            quote: null,
            link: t('mails.token_expiry.link'),
            url: `${config.BASE_URL}/admin/tokens/${tokenId}?account=${slug}`,
            reason: t('mails.token_expiry.reason'),
            ending: t('mails.notification.no_more_mail'),
            unsubscribeUrl: endingUrl,
          });
        };
        return { to, userId, language, write, unsubscribeUrl: endingUrl };
      },
    ),

    /**
     * Each try to send the mail creates a new link, and the earlier link stops working. So after a successful try, this
     * task never mails the invitation again. A second mail would make the link in the first mail invalid.
     */
    mail_invitation: mailTask<{ account_id: number; invitation_id: number }>(
      'invitation',
      async ({ account_id: accountId, invitation_id: invitationId }) => {
        const invitation = { accountId, invitationId };
        const link = await makeInvitationLink(database, invitation, clock.now());
        // Without a link, there is nothing to mail: the invitation was already mailed or is no longer open (see
        // isOpenInvitation).
        if (!link) return undefined;
        const { email: to, language, tokenHash, token, account, role, inviter } = link;
        const write = () =>
          writeLinkMail({
            subject: t('mails.join_link.subject', { account: shownAccount(account, maxNameInSubject) }),
            sentence: t(`mails.invitation.${role}`, {
              inviter: inviter === null ? t('mails.operator') : shortLine(inviter, maxNameLength, t('mails.somebody')),
              account: shownAccount(account, maxNameLength),
            }),
            purpose: t('mails.invitation.purpose', { days: invitationDays }),
            link: { label: t('mails.invitation.link'), url: invitationUrl(config, token) },
            otherwise: t('mails.invitation.otherwise'),
          });
        const settle: AccountMail['settle'] = outcome =>
          database.transaction(transaction => {
            const admin = administrationIn(transaction, { audit, actor: { by: 'server' }, now: clock.now() });
            return noteDelivery(admin, { ...invitation, tokenHash }, outcome);
          });
        return { to, language, write, settle };
      },
    ),
  } satisfies TaskList;

  /** Returns the mail with a security notice to the e-mail address that a user signs in with. */
  async function noticeTo(userId: number, notice: Notice): Promise<AccountMail | undefined> {
    const user = await readMailRecipient(database, userId);
    if (!user) return undefined;
    const write = () =>
      writeLinkMail({
        subject: t(`mails.notice.${notice}.subject`),
        purpose: t(`mails.notice.${notice}.purpose`),
        link: { label: t('mails.notice.link'), url: `${config.BASE_URL}/admin/password-link` },
        otherwise: t('mails.notice.otherwise'),
      });
    return { to: user.email, userId, language: user.language, write };
  }

  /**
   * Builds the task for one kind of mail. If the profile of the recipient has no language, the mail is in the language
   * of the request that caused the mail. If the mail server cannot accept the mail now, the worker retries the job.
   */
  function mailTask<Payload>(kind: string, prepare: (payload: Payload) => Promise<AccountMail | undefined>) {
    return ifMailed(async (mailer, payload: Payload & { language?: string }) => {
      const mail = await prepare(payload);
      if (!mail) return;
      const { to, userId, language, write, unsubscribeUrl, settle } = mail;
      const content = writeFor(readerOf(language, payload.language), write);
      const unsubscribe = unsubscribeUrl === undefined ? {} : { unsubscribeUrl };
      const messageId = `${kind}-${randomUUID()}@${new URL(config.BASE_URL).hostname}`;
      const outcome = await deliver(mailer, { ...content, ...unsubscribe, to, messageId, references: [] }, { metrics });
      if (outcome.result === 'failed') throw new Error(outcome.reason);
      if (outcome.result === 'refused' && userId !== undefined) {
        logger.info({ userId }, 'the mail server refuses mail to a user');
      }
      await settle?.(outcome.result === 'delivered' ? 'mailed' : 'refused');
    });
  }
}

function shownAccount(name: string, maxLength: number): string {
  return shortLine(name, maxLength, t('mails.an_account'));
}
