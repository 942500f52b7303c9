import { randomUUID } from 'node:crypto';
import type { TaskList } from 'graphile-worker';
import { administrationIn } from '../../domain/administration.ts';
import { readScheduledDeletion } from '../../domain/erasure/request-deletion.ts';
import { invitationDays } from '../../domain/invitations/invite-member.ts';
import { invitationUrl, makeInvitationLink, noteDelivery } from '../../domain/invitations/mailed-link.ts';
import type { SecondFactorChange } from '../../domain/second-factor/second-factor.ts';
import { insertPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../../domain/sign-in/password-links.ts';
import {
  type LinkRequest,
  makeSignInLink,
  signInLinkMinutes,
  signInLinkUrl,
} from '../../domain/sign-in/sign-in-links.ts';
import { type AddressField, addressLinkHours, addressUrl, isAddressWanted } from '../../domain/users/change-address.ts';
import { readSignInAddress } from '../../domain/users/find-user.ts';
import { asRole } from '../../entities/membership.ts';
import { shortLine } from '../../text/plain-text.ts';
import { deliver } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { requireMailer } from './mailer.ts';
import { type MailContent, writeLinkMail } from './write-mail.ts';

interface AccountMail extends MailContent {
  to: string;
  /** The id of the recipient for the log, which must not contain e-mail addresses. Undefined if there is no user. */
  userId?: number;
  /** Records whether the mail was sent. */
  settle?(outcome: 'mailed' | 'refused'): Promise<unknown>;
}

/** The maximum length of a name in a subject. Mail programs cut long subjects. */
const maxNameInSubject = 60;
const maxNameLength = 100;

const hourMs = 3_600_000;

/** The format of times in mails. It shows UTC, because the reader's time zone is unknown. */
const timeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

const addressPurposes: Record<AddressField, string> = {
  email: 'Somebody wants to sign in to Idea-Board with this address. If this was you, confirm it',
  notification_email:
    'Somebody wants to get notifications from Idea-Board at this address. If this was you, confirm it',
};

const setPassword = 'If this was not you, set a new password now. This signs out everybody.';

const secondFactorWords: Record<SecondFactorChange, { subject: string; purpose: string }> = {
  enabled: {
    subject: 'Two-factor sign-in for Idea-Board is on',
    purpose: `Somebody with your password turned on two-factor sign-in at Idea-Board. From now on, a sign-in needs a code of an authenticator app. ${setPassword} Then ask the operator of the server to turn it off.`,
  },
  disabled: {
    subject: 'Two-factor sign-in for Idea-Board is off',
    purpose: `Two-factor sign-in was turned off at Idea-Board. A sign-in no longer needs a code. ${setPassword}`,
  },
  recovery_used: {
    subject: 'A recovery code for Idea-Board was used',
    purpose: `Somebody signed in at Idea-Board with your password and one of your recovery codes. ${setPassword} Then replace your recovery codes in your profile.`,
  },
  codes_regenerated: {
    subject: 'Your recovery codes for Idea-Board were replaced',
    purpose: `Your recovery codes at Idea-Board were replaced. The old recovery codes no longer work. ${setPassword}`,
  },
};

/**
 * Builds the tasks that each send one mail about an account or a sign-in. A task sends nothing if its mail is no longer
 * needed. If the mail has a secret link, the task creates the link. So the link is only in the mail, not in the
 * database.
 */
export function buildAccountMailTasks(deps: TaskDependencies) {
  const { config, database, clock, audit, addressTokens, logger, metrics } = deps;
  const ifMailed = requireMailer(deps);
  const passwordLink = { label: 'Set another password', url: `${config.BASE_URL}/admin/password-link` };

  return {
    /**
     * The user id is null for an unknown e-mail address. Each try creates its own link. If the try fails, nobody gets
     * this link, and the link expires.
     */
    mail_password_link: mailTask<{ user_id: number | null }>('password', async payload => {
      const userId = payload.user_id;
      const link = userId === null ? undefined : await insertPasswordLink(database, userId, clock.now());
      if (userId === null || !link) return undefined;
      const content = writeLinkMail({
        subject: 'Set your password for Idea-Board',
        purpose: `Choose your password with this link. It works once, within ${passwordLinkMinutes} minutes:`,
        link: { label: 'Choose a password', url: passwordLinkUrl(config, link.token) },
        otherwise: 'Did you not ask for this? Ignore this mail. Your password does not change.',
      });
      return { ...content, to: link.email, userId };
    }),

    /** An address that can neither sign in nor sign up gets no mail. Otherwise anybody could send mails to strangers. */
    mail_sign_in_link: mailTask<LinkRequest>('sign-in', async request => {
      const link = await makeSignInLink(database, request, clock.now());
      if (!link) return undefined;
      const { email: to, userId, account, token } = link;
      const url = signInLinkUrl(config, token);
      const lifetime = `It works once, within ${signInLinkMinutes} minutes:`;
      const otherwise = 'Did you not ask for this? Ignore this mail. Nothing happens without the link.';
      if (!account) {
        const content = writeLinkMail({
          subject: 'Sign in to Idea-Board',
          purpose: `Sign in with this link. ${lifetime}`,
          link: { label: 'Sign in', url },
          otherwise,
        });
        return { ...content, to, ...(userId === undefined ? {} : { userId }) };
      }
      const content = writeLinkMail({
        subject: `Join ${shortLine(account.name, maxNameInSubject, 'an account')} on Idea-Board`,
        sentence: `Somebody asked to join ${shortLine(account.name, maxNameLength, 'an account')} on Idea-Board with this address.`,
        purpose: `Join with this link. ${lifetime}`,
        link: { label: 'Join', url },
        otherwise,
      });
      return { ...content, to };
    }),

    mail_password_notice: mailTask<{ user_id: number }>('password-notice', payload =>
      noticeTo(payload.user_id, {
        subject: 'Your password for Idea-Board was changed',
        purpose:
          'The password for this address was changed at Idea-Board, and all sessions were signed out. If this was not you, set a new password now. This signs out everybody.',
      }),
    ),

    mail_second_factor_notice: mailTask<{ user_id: number; change: SecondFactorChange }>(
      'second-factor-notice',
      ({ user_id: userId, change }) => noticeTo(userId, secondFactorWords[change]),
    ),

    mail_address_notice: mailTask<{ user_id: number }>('address-notice', payload =>
      noticeTo(payload.user_id, {
        subject: 'A new address for Idea-Board was requested',
        purpose:
          'Somebody with your password asked to change your sign-in address for Idea-Board from this one to another. The address changes when they confirm the new one. If this was not you, set a new password now. This signs out everybody and keeps this address.',
      }),
    ),

    /** The mail with the link that confirms an e-mail address does not name the person who asked for the mail. */
    mail_address_link: mailTask<{ user_id: number; field: AddressField; address: string; basis: string }>(
      'address',
      async ({ user_id: userId, field, address, basis }) => {
        const change = { userId, field, address, basis };
        if (!(await isAddressWanted(database, change))) return undefined;
        const expiresAt = new Date(clock.now().getTime() + addressLinkHours * hourMs);
        const content = writeLinkMail({
          subject: 'Confirm your address for Idea-Board',
          purpose: `${addressPurposes[field]} within ${addressLinkHours} hours:`,
          link: { label: 'Confirm the address', url: addressUrl(config, addressTokens.make(change, expiresAt)) },
          otherwise: 'Was this not you? Ignore this mail. Nothing changes, and you get no further mail.',
        });
        return { ...content, to: address, userId };
      },
    ),

    mail_account_deletion: mailTask<{ account_id: number; user_id: number }>(
      'account-deletion',
      async ({ account_id: accountId, user_id: userId }) => {
        const deletion = await readScheduledDeletion(database, accountId, userId);
        if (!deletion) return undefined;
        const { email: to, name, slug, scheduled_at } = deletion;
        const erasedFrom = new Date(Date.parse(scheduled_at) + config.ACCOUNT_DELETION_GRACE_DAYS * 24 * hourMs);
        const content = writeLinkMail({
          subject: `${shortLine(name, maxNameInSubject, slug)} is to be deleted from Idea-Board`,
          purpose: `The deletion of the account ${shortLine(name, maxNameLength, slug)} was scheduled. Nothing changes until ${timeFormat.format(erasedFrom)} UTC. After that, it may be erased for good, with its boards, ideas, votes, comments and members. Until then, an owner can cancel the deletion:`,
          link: { label: 'See the account', url: `${config.BASE_URL}/admin/account?account=${slug}` },
          otherwise: 'Do you agree to this? Then you need not do anything.',
        });
        return { ...content, to, userId };
      },
    ),

    /**
     * Each try creates a new link, and the earlier link stops working. So this task never mails an invitation again:
     * the link in the first mail would stop working.
     */
    mail_invitation: mailTask<{ account_id: number; invitation_id: number }>(
      'invitation',
      async ({ account_id: accountId, invitation_id: invitationId }) => {
        const invitation = { accountId, invitationId };
        const link = await makeInvitationLink(database, invitation, clock.now());
        // There is no link if the invitation was already mailed or is no longer open (see isOpenInvitation).
        if (!link) return undefined;
        const { email: to, tokenHash, token, account, role, inviter } = link;
        const who = inviter === null ? 'The operator' : shortLine(inviter, maxNameLength, 'Somebody');
        const where = shortLine(account, maxNameLength, 'an account');
        const content = writeLinkMail({
          subject: `Join ${shortLine(account, maxNameInSubject, 'an account')} on Idea-Board`,
          sentence: `${who} invites you to ${where} on Idea-Board, as ${asRole[role]}.`,
          purpose: `Join with this link. It works once, within ${invitationDays} days:`,
          link: { label: 'See the invitation', url: invitationUrl(config, token) },
          otherwise: 'Did you not expect this? Ignore this mail. Nothing happens until you open the link and accept.',
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

  /** Writes a security notice to the e-mail address that a user signs in with. */
  async function noticeTo(userId: number, words: { subject: string; purpose: string }) {
    const to = await readSignInAddress(database, userId);
    if (to === undefined) return undefined;
    const otherwise = 'If this was you, you need not do anything.';
    return { ...writeLinkMail({ ...words, link: passwordLink, otherwise }), to, userId };
  }

  /**
   * Builds the task for one kind of mail. If the mail server cannot accept the mail now, the worker retries the job.
   */
  function mailTask<Payload>(kind: string, write: (payload: Payload) => Promise<AccountMail | undefined>) {
    return ifMailed(async (mailer, payload: Payload) => {
      const mail = await write(payload);
      if (!mail) return;
      const { userId, settle, ...content } = mail;
      const messageId = `${kind}-${randomUUID()}@${new URL(config.BASE_URL).hostname}`;
      const outcome = await deliver(mailer, { ...content, messageId, references: [] }, { metrics });
      if (outcome.result === 'failed') throw new Error(outcome.reason);
      if (outcome.result === 'refused' && userId !== undefined) {
        logger.info({ userId }, 'the mail server refuses mail to a user');
      }
      await settle?.(outcome.result === 'delivered' ? 'mailed' : 'refused');
    });
  }
}
