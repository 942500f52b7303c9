import { z } from 'zod';
import { grants } from '../../contract/grants.ts';
import { chatKinds } from '../entities/chat-channel.ts';
import { roles } from '../entities/membership.ts';
import { defineEvent, field, oneOf, text, whole } from './define-event.ts';

/** Who did it: the operator of the server by the command line, a person in the pages, or the server by itself. */
const by = {
  by: oneOf(['operator', 'user', 'server'], 'the command line, a person in the pages, or the server by itself'),
  by_user_id: whole('the person, where a person did it').optional(),
};

const inAccount = { ...by, account_id: field.accountId };
const onBoard = { ...inAccount, board_id: field.boardId };
const ofUser = { ...by, user_id: whole('who it is about') };
const ofMember = { ...inAccount, user_id: whole('who it is about') };
const ofInvitation = { ...inAccount, invitation_id: whole('the invitation') };
const invited = text('the address that is invited, masked');
const ofToken = { ...inAccount, token_id: field.tokenId };
const ofWebhook = { ...inAccount, webhook_id: field.webhookId };
const ofIdea = { ...inAccount, idea_id: field.ideaId };
const ofFollower = { ...ofIdea, user_id: whole('who follows or followed it') };
const ofChannel = { ...inAccount, channel_id: field.channelId };
const role = z.enum(roles);
const rows = z.record(z.string(), z.int()).describe('how many rows each table lost, or had changed');

/** What is changed in the administration of the server and its accounts, by whichever way: each when it is committed. */
export const administrationEvents = {
  'account.created': defineEvent('An account was created.', {
    ...inAccount,
    user_id: whole('its owner'),
    plan: text('its plan'),
  }),
  'account.updated': defineEvent('Something of an account was changed.', { ...inAccount, changed: field.changed }),
  'account.plan_changed': defineEvent('An account has another plan.', {
    ...inAccount,
    from: text('the plan before'),
    to: text('the plan now'),
  }),
  'account.deletion_scheduled': defineEvent('The grace began after which an account is erased.', inAccount),
  'account.deletion_cancelled': defineEvent('An account is kept after all.', inAccount),
  'account.erased': defineEvent('An account is erased, with all that belonged to it.', { ...inAccount, rows }),

  'user.created': defineEvent('A user was created.', { ...ofUser, email: text('the address, masked') }),
  'user.updated': defineEvent('Something of a user was changed.', {
    ...ofUser,
    changed: field.changed,
    email: text('the new address, masked, where that was changed').optional(),
  }),
  'user.address_requested': defineEvent(
    'A user asked for another address, which is theirs when a link that is mailed to it is opened.',
    {
      ...ofUser,
      field: oneOf(
        ['email', 'notification_email'],
        'the one with which they sign in, or the one to which notifications are sent',
      ),
      email: text('the address, masked'),
    },
  ),
  'user.blocked': defineEvent('A user may write no more in an account.', ofMember),
  'user.unblocked': defineEvent('A user may write again in an account.', ofMember),
  'user.deletion_requested': defineEvent('The grace began after which a user is erased.', ofUser),
  'user.deletion_cancelled': defineEvent('A user stays after all.', ofUser),
  'user.erased': defineEvent('A user is erased: nothing personal is left.', { ...ofUser, rows }),
  'password.set': defineEvent('A password was set, and every session of the user ended.', {
    ...ofUser,
    sessions: whole('in how many they were signed in'),
  }),
  'password.link_created': defineEvent('The operator made a link by which a user sets a password.', ofUser),
  'member.added': defineEvent('A user became a member of an account.', { ...ofMember, role: role.describe('as what') }),
  'member.role_changed': defineEvent('A member has another role.', {
    ...ofMember,
    from: role.describe('the role before'),
    to: role.describe('the role now'),
  }),
  'member.removed': defineEvent('A user is no member of an account any more.', {
    ...ofMember,
    role: role.describe('the role before'),
  }),

  'invitation.created': defineEvent('An address was invited to an account, or invited again.', {
    ...ofInvitation,
    email: invited,
    role: role.describe('as what'),
  }),
  'invitation.mailed': defineEvent('The mail with the link of an invitation was sent, or refused.', {
    ...ofInvitation,
    outcome: oneOf(['mailed', 'refused'], 'the mail server took it; it refused it for good'),
  }),
  'invitation.revoked': defineEvent('An invitation was taken back.', {
    ...ofInvitation,
    email: invited,
    role: role.describe('as what'),
  }),
  'invitation.accepted': defineEvent('Somebody became a member of an account by an invitation.', {
    ...ofInvitation,
    user_id: whole('who it is about'),
    role: role.describe('as what'),
  }),

  'token.created': defineEvent('A token was created.', {
    ...ofToken,
    kind: oneOf(['api', 'oauth'], 'made as one, or by consent to an OAuth client'),
    user_id: whole('who issued it'),
    boards: z
      .array(z.object({ board_id: z.int(), level: z.enum(grants) }))
      .readonly()
      .describe('the boards that it grants, each at its level'),
    expires_at: z
      .string()
      .nullable()
      .describe('when it ends; null for never. What a client of OAuth was granted is kept for as long as it is used'),
  }),
  'token.revoked': defineEvent('A token was revoked.', ofToken),
  'oauth.consent_denied': defineEvent('Somebody refused what a client of OAuth asked for.', {
    ...ofUser,
    account_id: field.accountId.optional(),
    client_id: text('the client'),
  }),

  'board.created': defineEvent('A board was created.', onBoard),
  'board.updated': defineEvent('Something of a board was changed.', { ...onBoard, changed: field.changed }),
  'board.frozen': defineEvent('A board accepts no writes.', onBoard),
  'board.unfrozen': defineEvent('A board accepts writes again.', onBoard),
  'status.added': defineEvent('A status was added to a board.', { ...onBoard, key: text('its key') }),
  'status.updated': defineEvent('A status was changed.', {
    ...onBoard,
    key: text('its key, the new one where that was changed'),
    changed: field.changed,
  }),
  'status.removed': defineEvent('A status was removed.', { ...onBoard, key: text('its key') }),
  'tag.added': defineEvent('A tag was added to a board.', { ...onBoard, tag_id: whole('the tag') }),
  'tag.updated': defineEvent('A tag was changed.', { ...onBoard, tag_id: whole('the tag'), changed: field.changed }),
  'tag.removed': defineEvent('A tag was removed.', { ...onBoard, tag_id: whole('the tag') }),
  'idea.approved': defineEvent('An idea that awaited approval was published.', ofIdea),
  'idea.rejected': defineEvent('An idea that awaited approval was rejected.', ofIdea),
  'idea.status_changed': defineEvent('A moderator gave an idea another status.', {
    ...ofIdea,
    from: text('the key of the status before'),
    to: text('the key of the status now'),
  }),
  'idea.tag_added': defineEvent('A moderator gave an idea a tag.', { ...ofIdea, tag_id: whole('the tag') }),
  'idea.tag_removed': defineEvent('A moderator took a tag from an idea.', { ...ofIdea, tag_id: whole('the tag') }),
  'idea.merged': defineEvent('A moderator merged an idea into another.', {
    ...ofIdea,
    target_id: whole('the idea into which it was merged'),
  }),
  'idea.unmerged': defineEvent('A moderator took a merge back.', {
    ...ofIdea,
    target_id: whole('the idea into which it was merged'),
  }),

  'idea.followed': defineEvent(
    "A user is told of what happens to an idea from now on, by their own or the operator's doing.",
    ofFollower,
  ),
  'idea.unfollowed': defineEvent('A user is not told any more of what happens to an idea.', ofFollower),
  'notifications.read': defineEvent('A user marked notifications as read.', {
    ...ofUser,
    count: whole('how many that were not'),
  }),

  'webhook.created': defineEvent('A webhook was registered.', {
    ...ofWebhook,
    board_id: field.boardId.nullable().describe('its board; null for all of the account'),
    origin: field.origin,
  }),
  'webhook.updated': defineEvent('A webhook was changed.', {
    ...ofWebhook,
    changed: field.changed,
    origin: field.origin,
  }),
  'webhook.secret_rotated': defineEvent('A webhook has a new secret.', {
    ...ofWebhook,
    overlap_hours: z.number().describe('how long the one before signs, too'),
  }),
  'webhook.disabled': defineEvent('Nothing more is sent to a webhook.', {
    ...ofWebhook,
    reason: oneOf(
      ['administrator', 'gone', 'failing'],
      'somebody disabled it; it answered 410; nothing could be delivered for five days',
    ),
  }),
  'webhook.enabled': defineEvent('A webhook is sent to again.', ofWebhook),
  'webhook.tested': defineEvent('A test event was sent to a webhook.', ofWebhook),
  'webhook.redelivered': defineEvent('Deliveries of a webhook were sent again.', {
    ...ofWebhook,
    deliveries: whole('how many'),
  }),
  'webhook.deleted': defineEvent('A webhook was deleted, with the log of its deliveries.', ofWebhook),
  'chat_channel.created': defineEvent('A chat channel was added to a board.', {
    ...ofChannel,
    board_id: field.boardId,
    kind: oneOf(chatKinds, 'the chat'),
  }),
  'chat_channel.disabled': defineEvent('Nothing more is posted to a chat channel.', {
    ...ofChannel,
    reason: oneOf(['administrator', 'gone'], 'somebody disabled it; the chat said that it is gone'),
  }),
  'chat_channel.enabled': defineEvent('A chat channel is posted to again.', ofChannel),
  'chat_channel.tested': defineEvent('A test message was sent to a chat channel.', ofChannel),
  'chat_channel.deleted': defineEvent('A chat channel was deleted.', ofChannel),
};
