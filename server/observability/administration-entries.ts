import { z } from 'zod';
import { grants } from '../../contract/grants.ts';
import { chatKinds } from '../entities/chat-channel.ts';
import { roles } from '../entities/membership.ts';
import { defineEntry as entry, field, oneOf, text, whole } from './define-entry.ts';

/** The actor: the operator with the command line, a person in the pages, or the server itself. */
const by = {
  by: oneOf(['operator', 'user', 'server'], 'the command line, a person in the pages, or the server itself'),
  by_user_id: whole('the person who did it, if `by` is `user`').optional(),
};

const inAccount = { ...by, account_id: field.accountId };
const onBoard = { ...inAccount, board_id: field.boardId };
const userId = whole('the user');
const ofUser = { ...by, user_id: userId };
const ofMember = { ...inAccount, user_id: userId };
const ofInvitation = { ...inAccount, invitation_id: whole('the invitation') };
const ofToken = { ...inAccount, token_id: field.tokenId };
const ofWebhook = { ...inAccount, webhook_id: field.webhookId };
const ofIdea = { ...inAccount, idea_id: field.ideaId };
const ofFollower = { ...ofIdea, user_id: whole('the follower') };
const ofChannel = { ...inAccount, channel_id: field.channelId };
const role = { role: z.enum(roles).describe('the role') };
const changed = { changed: field.changed };
const email = { email: text('the address, masked') };
const invited = { email: text('the invited address, masked') };
const key = { key: text('its key') };
const tag = { tag_id: whole('the tag') };
const rows = z.record(z.string(), z.int()).describe('the number of rows that were deleted or changed in each table');

/** Changes in the administration of the server and its accounts. Each entry is written when its change is committed. */
export const administrationEntries = {
  'account.created': entry('An account was created.', {
    ...inAccount,
    user_id: whole('its owner'),
    plan: text('its plan'),
  }),
  'account.updated': entry('Fields of an account were changed.', { ...inAccount, ...changed }),
  'account.plan_changed': entry('The plan of an account was changed.', {
    ...inAccount,
    from: text('the plan before'),
    to: text('the plan now'),
  }),
  'account.deletion_scheduled': entry(
    'The deletion of an account was scheduled, and its grace period began.',
    inAccount,
  ),
  'account.deletion_cancelled': entry('The scheduled deletion of an account was cancelled.', inAccount),
  'account.erased': entry('An account and all its data were erased.', { ...inAccount, rows }),

  'user.created': entry('A user was created.', { ...ofUser, ...email }),
  'user.updated': entry('Fields of a user were changed.', {
    ...ofUser,
    ...changed,
    email: text('the new address, masked, if it was changed').optional(),
  }),
  'user.address_requested': entry(
    'A user asked to change an address. The change takes effect when the user opens the mailed link.',
    {
      ...ofUser,
      field: oneOf(['email', 'notification_email'], 'the address for signing in, or the address for notifications'),
      ...email,
    },
  ),
  'user.blocked': entry('A user was blocked in an account and may not write in it.', ofMember),
  'user.unblocked': entry('A user was unblocked in an account.', ofMember),
  'user.deletion_requested': entry('A user asked for deletion, and the grace period began.', ofUser),
  'user.deletion_cancelled': entry('The deletion of a user was cancelled.', ofUser),
  'user.erased': entry('A user and all their personal data were erased.', { ...ofUser, rows }),
  'password.set': entry('A user set a password, which ended all their sessions.', {
    ...ofUser,
    sessions: whole('the number of sessions'),
  }),
  'password.link_created': entry('The operator created a link to set a password.', ofUser),
  'member.added': entry('A user became a member of an account.', { ...ofMember, ...role }),
  'member.role_changed': entry('The role of a member was changed.', {
    ...ofMember,
    from: z.enum(roles).describe('the role before'),
    to: z.enum(roles).describe('the role now'),
  }),
  'member.removed': entry('A member was removed from an account.', {
    ...ofMember,
    role: z.enum(roles).describe('the role before'),
  }),

  'invitation.created': entry('An invitation to an account was created or renewed.', {
    ...ofInvitation,
    ...invited,
    ...role,
  }),
  'invitation.mailed': entry('The mail of an invitation was sent or rejected.', {
    ...ofInvitation,
    outcome: oneOf(['mailed', 'refused'], 'the mail server accepted it, or rejected it permanently'),
  }),
  'invitation.revoked': entry('An invitation was revoked.', { ...ofInvitation, ...invited, ...role }),
  'invitation.accepted': entry('A user accepted an invitation and became a member.', {
    ...ofInvitation,
    user_id: userId,
    ...role,
  }),

  'token.created': entry('A token was created.', {
    ...ofToken,
    kind: oneOf(['api', 'oauth'], 'an API token, or an OAuth grant'),
    user_id: whole('its issuer'),
    boards: z
      .array(z.object({ board_id: z.int(), level: z.enum(grants) }))
      .readonly()
      .describe('its boards, each with the level of the grant'),
    expires_at: z
      .string()
      .nullable()
      .describe('when it expires; null for never, and for an OAuth grant, which lasts while it is used'),
  }),
  'token.revoked': entry('A token was revoked.', ofToken),
  'oauth.consent_denied': entry('A user denied the request of an OAuth client.', {
    ...ofUser,
    account_id: field.accountId.optional(),
    client_id: text('the client'),
  }),

  'board.created': entry('A board was created.', onBoard),
  'board.updated': entry('Fields of a board were changed.', { ...onBoard, ...changed }),
  'board.frozen': entry('A board was frozen: it accepts no writes.', onBoard),
  'board.unfrozen': entry('A board was unfrozen.', onBoard),
  'status.added': entry('A status was added to a board.', { ...onBoard, ...key }),
  'status.updated': entry('A status was changed.', { ...onBoard, key: text('its key after the change'), ...changed }),
  'status.removed': entry('A status was removed.', { ...onBoard, ...key }),
  'tag.added': entry('A tag was added to a board.', { ...onBoard, ...tag }),
  'tag.updated': entry('A tag was changed.', { ...onBoard, ...tag, ...changed }),
  'tag.removed': entry('A tag was removed.', { ...onBoard, ...tag }),
  'idea.approved': entry('A pending idea was approved.', ofIdea),
  'idea.rejected': entry('A pending idea was rejected.', ofIdea),
  'idea.status_changed': entry('A moderator changed the status of an idea.', {
    ...ofIdea,
    from: text('the key of the status before'),
    to: text('the key of the status now'),
  }),
  'idea.tag_added': entry('A moderator added a tag to an idea.', { ...ofIdea, ...tag }),
  'idea.tag_removed': entry('A moderator removed a tag from an idea.', { ...ofIdea, ...tag }),
  'idea.merged': entry('A moderator merged an idea into another.', { ...ofIdea, target_id: field.targetId }),
  'idea.unmerged': entry('A moderator reversed a merge.', { ...ofIdea, target_id: field.targetId }),

  'idea.followed': entry('A user, or the operator for a user, followed an idea.', ofFollower),
  'idea.unfollowed': entry('A user unfollowed an idea.', ofFollower),
  'notifications.read': entry('A user marked notifications as read.', {
    ...ofUser,
    count: whole('the number of notifications that were unread'),
  }),

  'webhook.created': entry('A webhook was registered.', {
    ...ofWebhook,
    board_id: field.boardId.nullable().describe('its board; null for all boards of the account'),
    origin: field.origin,
  }),
  'webhook.updated': entry('A webhook was changed.', { ...ofWebhook, ...changed, origin: field.origin }),
  'webhook.secret_rotated': entry('The secret of a webhook was rotated.', {
    ...ofWebhook,
    overlap_hours: z.number().describe('how long the old secret remains valid'),
  }),
  'webhook.disabled': entry('A webhook was disabled.', {
    ...ofWebhook,
    reason: oneOf(
      ['administrator', 'gone', 'failing'],
      'a person disabled it, it answered 410, or all deliveries failed for five days',
    ),
  }),
  'webhook.enabled': entry('A webhook was enabled.', ofWebhook),
  'webhook.tested': entry('A test event was sent to a webhook.', ofWebhook),
  'webhook.redelivered': entry('Deliveries of a webhook were queued again.', {
    ...ofWebhook,
    deliveries: whole('the number of deliveries'),
  }),
  'webhook.deleted': entry('A webhook and its delivery log were deleted.', ofWebhook),
  'chat_channel.created': entry('A chat channel was added to a board.', {
    ...ofChannel,
    board_id: field.boardId,
    kind: oneOf(chatKinds, 'the chat'),
  }),
  'chat_channel.disabled': entry('A chat channel was disabled.', {
    ...ofChannel,
    reason: oneOf(['administrator', 'gone'], 'a person disabled it, or the chat service answered that it is gone'),
  }),
  'chat_channel.enabled': entry('A chat channel was enabled.', ofChannel),
  'chat_channel.tested': entry('A test message was sent to a chat channel.', ofChannel),
  'chat_channel.deleted': entry('A chat channel was deleted.', ofChannel),
};
