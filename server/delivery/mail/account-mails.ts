import { randomUUID } from 'node:crypto';
import type { TaskList } from 'graphile-worker';
import { administrationIn } from '../../domain/administration.ts';
import { readScheduledDeletion } from '../../domain/erasure/request-deletion.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { invitationUrl, makeInvitationLink, noteDelivery } from '../../domain/invitations/mailed-link.ts';
import { insertPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../../domain/sign-in/password-links.ts';
import { type AddressField, addressLinkHours, addressUrl, isAddressWanted } from '../../domain/users/change-address.ts';
import { readSignInAddress } from '../../domain/users/find-user.ts';
import { asRole } from '../../entities/membership.ts';
import { shortLine } from '../../text/plain-text.ts';
import { deliver } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { type MailContent, writeLinkMail } from './write-mail.ts';

interface AccountMail extends MailContent {
  to: string;
  /** The user who gets the mail, for the log, which has no address. None for an address without a user. */
  userId?: number;
  /** Records the outcome. */
  settle?(outcome: 'mailed' | 'refused'): Promise<unknown>;
}

/** A list of mails shows no more of a subject. */
const maxNameInSubject = 60;
const maxNameLength = 100;

const hourMs = 3_600_000;

/** In UTC, since the reader's time zone is unknown. */
const timeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

const addressPurposes: Record<AddressField, string> = {
  email: 'Somebody wants to sign in to Idea-Board with this address. If it was you, confirm it',
  notification_email: 'Somebody wants to get notifications from Idea-Board at this address. If it was you, confirm it',
};

/**
 * The tasks that send one mail about an account or a sign-in. Each reads the state when it runs, and sends nothing if the
 * mail is obsolete. A task makes its secret link itself: the link is in the mail only, and its hash in the database.
 */
export function buildAccountMailTasks(deps: TaskDependencies) {
  const { config, database, clock, audit, addressTokens, logger, mailer, metrics } = deps;
  const passwordLink = { label: 'Set another password', url: `${config.BASE_URL}/admin/password-link` };

  return {
    /** A try that fails leaves a link that nobody has, until it expires. The user is null for an unknown address. */
    mail_password_link: mailTask<{ user_id: number | null }>('password', 'links to set a password', async payload => {
      const userId = payload.user_id;
      const link = userId === null ? undefined : await insertPasswordLink(database, userId, clock.now());
      if (userId === null || !link) return undefined;
      const content = writeLinkMail({
        subject: 'Set your password for Idea-Board',
        purpose: `With this link you choose your password. It works once, within ${passwordLinkMinutes} minutes:`,
        link: { label: 'Choose a password', url: passwordLinkUrl(config, link.token) },
        otherwise: 'You did not ask for it? Then do nothing: your password stays as it is.',
      });
      return { ...content, to: link.email, userId };
    }),

    mail_password_notice: mailTask<{ user_id: number }>('password-notice', 'notices of another password', payload =>
      noticeTo(payload.user_id, {
        subject: 'Your password for Idea-Board was changed',
        purpose:
          'Another password was set for this address at Idea-Board, and whoever was signed in before is signed out. It was not you? Then set another password now: it signs everybody out.',
      }),
    ),

    mail_address_notice: mailTask<{ user_id: number }>('address-notice', 'notices of another address', payload =>
      noticeTo(payload.user_id, {
        subject: 'Another address for Idea-Board was asked for',
        purpose:
          'Somebody who knows your password asked to sign in to Idea-Board with another address than this one. It changes when they confirm the other address. It was not you? Then set another password now: it signs everybody out and keeps this address.',
      }),
    ),

    /** The mail does not say who asked for it. */
    mail_address_link: mailTask<{ user_id: number; field: AddressField; address: string; basis: string }>(
      'address',
      'links to confirm an address',
      async ({ user_id: userId, field, address, basis }) => {
        const change = { userId, field, address, basis };
        if (!(await isAddressWanted(database, change))) return undefined;
        const expiresAt = new Date(clock.now().getTime() + addressLinkHours * hourMs);
        const content = writeLinkMail({
          subject: 'Confirm your address for Idea-Board',
          purpose: `${addressPurposes[field]} within ${addressLinkHours} hours:`,
          link: { label: 'Confirm the address', url: addressUrl(config, addressTokens.make(change, expiresAt)) },
          otherwise: 'It was not you? Then do nothing: nothing changes, and no more is sent here.',
        });
        return { ...content, to: address, userId };
      },
    ),

    mail_account_deletion: mailTask<{ account_id: number; user_id: number }>(
      'account-deletion',
      'notices of a deletion',
      async ({ account_id: accountId, user_id: userId }) => {
        const deletion = await readScheduledDeletion(database, accountId, userId);
        if (!deletion) return undefined;
        const { email: to, name, slug, scheduled_at } = deletion;
        const erasedFrom = new Date(Date.parse(scheduled_at) + config.ACCOUNT_DELETION_GRACE_DAYS * 24 * hourMs);
        const content = writeLinkMail({
          subject: `${shortLine(name, maxNameInSubject, slug)} is to be deleted from Idea-Board`,
          purpose: `The deletion of the account ${shortLine(name, maxNameLength, slug)} was scheduled. It stays as it is until ${timeFormat.format(erasedFrom)} UTC. From then on it may be erased for good, with its boards, ideas, votes, comments and members. Until then you can call it off, as an owner of it:`,
          link: { label: 'See the account', url: `${config.BASE_URL}/admin/account?account=${slug}` },
          otherwise: 'You know of it? Then there is nothing to do here.',
        });
        return { ...content, to, userId };
      },
    ),

    /** Each try makes a new link. An invitation that was mailed is not mailed again, so that its link goes on working. */
    mail_invitation: mailTask<{ account_id: number; invitation_id: number }>(
      'invitation',
      'invitations',
      async ({ account_id: accountId, invitation_id: invitationId }) => {
        const invitation = { accountId, invitationId };
        const link = await makeInvitationLink(database, invitation, clock.now());
        // It was accepted or revoked, or its author may not invite any more.
        if (!link) return undefined;
        const { email: to, tokenHash, token, account, role, inviter } = link;
        const who = inviter === null ? 'The operator' : shortLine(inviter, maxNameLength, 'Somebody');
        const where = shortLine(account, maxNameLength, 'an account');
        const content = writeLinkMail({
          subject: `Join ${shortLine(account, maxNameInSubject, 'an account')} on Idea-Board`,
          sentence: `${who} invites you to ${where} on Idea-Board, as ${asRole[role]}.`,
          purpose: `With this link you join. It works once, within ${invitationDays} days:`,
          link: { label: 'See the invitation', url: invitationUrl(config, token) },
          otherwise: 'You did not expect it? Then do nothing: without the link nothing happens.',
        });
        const settle: AccountMail['settle'] = outcome =>
          database.transaction(transaction => {
            const admin = administrationIn(transaction, { audit, actor: { by: 'server' }, now: clock.now() });
            return noteDelivery(admin, { ...invitation, tokenHash }, outcome);
          });
        return { ...content, to, settle };
      },
    ),
  } satisfies TaskList;

  /** Writes a security notice to the address with which a user signs in. */
  async function noticeTo(userId: number, words: { subject: string; purpose: string }) {
    const to = await readSignInAddress(database, userId);
    if (to === undefined) return undefined;
    const otherwise = 'It was you? Then there is nothing to do here.';
    return { ...writeLinkMail({ ...words, link: passwordLink, otherwise }), to, userId };
  }

  /** The task of one kind of mail. If the mail server cannot take the mail now, the job fails and the worker retries it. */
  function mailTask<Payload>(
    kind: string,
    plural: string,
    write: (payload: Payload) => Promise<AccountMail | undefined>,
  ) {
    let isAbsenceLogged = false;
    return async (payload: unknown) => {
      if (!mailer) {
        if (!isAbsenceLogged) logger.warn(`SMTP_URL is not set: ${plural} are not mailed`);
        isAbsenceLogged = true;
        return;
      }
      const mail = await write(payload as Payload);
      if (!mail) return;
      const { userId, settle, ...content } = mail;
      const messageId = `${kind}-${randomUUID()}@${new URL(config.BASE_URL).hostname}`;
      const outcome = await deliver(mailer, { ...content, messageId, references: [] }, { metrics });
      if (outcome.result === 'failed') throw new Error(outcome.reason);
      if (outcome.result === 'refused' && userId !== undefined) {
        logger.info({ userId }, 'the mail server refuses mail to a user');
      }
      await settle?.(outcome.result === 'delivered' ? 'mailed' : 'refused');
    };
  }
}
