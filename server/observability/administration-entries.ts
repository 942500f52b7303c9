import { z } from 'zod';
import { capabilities, grants } from '../../contract/grants.ts';
import { chatKinds } from '../entities/chat-channel.ts';
import { roles } from '../entities/membership.ts';
import { defineEntry as entry, field, oneOf, text, whole } from './define-entry.ts';

/** The person or program that caused an entry: an operator, another user, an API token or the server itself. */
const by = {
  by: oneOf(
    ['operator', 'user', 'token', 'server'],
    "who acted. `operator`: a person on the command line or in the operator's panel. `user`: another signed-in person. `token`: a program with an API token. `server`: the server itself",
  ),
  by_user_id: whole(
    'the id of the acting user, or of the user who issued the acting token; absent if `by` is `server`, or if an operator acted on the command line',
  ).optional(),
  by_token_id: whole('the id of the acting token; absent if `by` is not `token`').optional(),
};

const inAccount = { ...by, account_id: field.accountId };
const onBoard = { ...inAccount, board_id: field.boardId };
const userId = whole('the id of the user');
const ofUser = { ...by, user_id: userId };
const ofMember = { ...inAccount, user_id: userId };
const ofInvitation = { ...inAccount, invitation_id: whole('the id of the invitation') };
const ofToken = { ...inAccount, token_id: field.tokenId };
const ofWebhook = { ...inAccount, webhook_id: field.webhookId };
const ofEmbeddingSecret = { ...inAccount, embedding_secret_id: whole('the id of the embedding secret') };
const ofIdea = { ...inAccount, idea_id: field.ideaId };
const ofFollower = { ...ofIdea, user_id: whole('the id of the follower') };
const ofProvider = { ...inAccount, provider_id: whole('the id of the identity provider') };
const ofIdentity = {
  ...ofMember,
  identity_id: whole(
    'the id of the external identity: a person at a provider, or in the application that embeds the boards',
  ),
  provider_id: whole('the id of the identity provider')
    .nullable()
    .describe('the id of the identity provider; null for the application that embeds the boards of the account'),
};
const ofChannel = { ...inAccount, channel_id: field.channelId };
const role = { role: z.enum(roles).describe('the role of the member or the invited person') };
const changed = { changed: field.changed };
const invited = { email: text('the e-mail address of the invited person, masked') };
const key = { key: text('the key of the status') };
const tag = { tag_id: whole('the id of the tag') };
const rows = z
  .record(z.string(), z.int())
  .describe('the number of rows that the clean-up deleted or changed, for each database table');

/**
 * The audit entries for the administration of the server or of an account. The server writes each entry after the
 * change was committed.
 */
export const administrationEntries = {
  'account.created': entry('An account was created.', {
    ...inAccount,
    user_id: whole('the id of the owner of the account'),
    plan: text('the plan of the account'),
  }),
  'account.updated': entry('Fields of an account were changed.', { ...inAccount, ...changed }),
  'account.plan_changed': entry('The plan of an account was changed.', {
    ...inAccount,
    from: text('the plan before the change'),
    to: text('the plan after the change'),
  }),
  'account.deletion_scheduled': entry(
    'Somebody scheduled the deletion of an account. The clean-up erases the account after a grace period.',
    inAccount,
  ),
  'account.deletion_cancelled': entry('The scheduled deletion of an account was cancelled.', inAccount),
  'account.exported': entry('The operator wrote an archive with the data of an account.', inAccount),
  'account.imported': entry(
    'The operator imported boards, ideas, votes and people into an account. The new members and users have no entries of their own, except members with a role above `member`.',
    {
      ...inAccount,
      from: text('the product that wrote the files, or `archive`'),
      records: z.record(z.string(), z.int()).describe('the number of imported records of each type'),
      is_complete: z
        .boolean()
        .describe('`false` in the entry at the start of the import, and `true` in the entry at its end'),
    },
  ),
  'account.erased': entry('The clean-up erased an account and all its data.', { ...inAccount, rows }),

  'user.created': entry('A user was created.', {
    ...ofUser,
    email: text(
      'the e-mail address of the user, masked; absent if the user can sign in only with an external identity',
    ).optional(),
  }),
  'user.updated': entry('Fields of a user were changed.', {
    ...ofUser,
    ...changed,
    account_id: whole('the id of the account whose owner or admin removed the picture; otherwise absent').optional(),
    email: text('the new e-mail address, masked; absent if the e-mail address is unchanged').optional(),
  }),
  'user.address_requested': entry(
    'A user asked to change one of their own e-mail addresses. The change takes effect when the user confirms it through the link in the mail.',
    {
      ...ofUser,
      field: oneOf(
        ['email', 'notification_email'],
        'which e-mail address is to change: `email` for signing in, or `notification_email` for notifications',
      ),
      email: text('the new e-mail address, masked'),
    },
  ),
  'user.blocked': entry('A user was blocked in an account, and can no longer write in the account.', ofMember),
  'user.unblocked': entry('A user was unblocked in an account.', ofMember),
  'user.data_exported': entry('A user downloaded a file with their own data.', ofUser),
  'user.deletion_requested': entry(
    'Somebody requested the deletion of a user. The clean-up erases the user after a grace period.',
    ofUser,
  ),
  'user.deletion_cancelled': entry('The deletion of a user was cancelled.', ofUser),
  'user.erased': entry('The clean-up erased a user as docs/erasure.md describes.', { ...ofUser, rows }),
  'password.set': entry('A user set a password. The server ended all earlier browser sessions of the user.', {
    ...ofUser,
    sessions: whole('the number of browser sessions that the server ended'),
  }),
  'password.link_created': entry('The operator created a link to set a password.', ofUser),
  'second_factor.enabled': entry(
    'A user turned on two-factor sign-in. The server ended the other browser sessions of the user.',
    { ...ofUser, sessions: whole('the number of browser sessions that the server ended') },
  ),
  'second_factor.disabled': entry('A user or the operator turned off the two-factor sign-in of a user.', ofUser),
  'second_factor.recovery_used': entry('A user signed in with a recovery code, which no longer works.', {
    ...ofUser,
    codes_left: whole('the number of unused recovery codes'),
  }),
  'second_factor.codes_regenerated': entry('A user replaced the recovery codes of two-factor sign-in.', ofUser),
  'member.added': entry('A user became a member of an account.', { ...ofMember, ...role }),
  'member.joined': entry(
    'A person became a member without an invitation. The account lets their e-mail address join, or a provider or an application of the account signed them in. An entry `member.added` for the same member comes before this entry.',
    ofMember,
  ),
  'member.role_changed': entry('The role of a member was changed.', {
    ...ofMember,
    from: z.enum(roles).describe('the role before the change'),
    to: z.enum(roles).describe('the role after the change'),
  }),
  'member.removed': entry('A member was removed from an account or left the account.', {
    ...ofMember,
    role: z.enum(roles).describe('the role before the removal'),
  }),

  'identity_provider.created': entry('An OpenID Connect provider was added to an account.', ofProvider),
  'identity_provider.updated': entry('An OpenID Connect provider of an account was changed.', {
    ...ofProvider,
    ...changed,
  }),
  'identity_provider.deleted': entry(
    'An OpenID Connect provider of an account was deleted. The server also deleted the external identities of the provider and ended the sessions of these identities.',
    { ...ofProvider, identities: whole('the number of deleted external identities') },
  ),
  'embedding_secret.created': entry(
    'An embedding secret was created. With this secret, an application of the account signs people in on embedded boards.',
    ofEmbeddingSecret,
  ),
  'embedding_secret.deleted': entry(
    'An embedding secret was deleted. The server ended the sessions that began with this secret.',
    ofEmbeddingSecret,
  ),
  'identity.created': entry(
    'A person signed in with an external identity of an account for the first time. The server created a user who can sign in only with this identity.',
    ofIdentity,
  ),
  'identity.connected': entry('A user confirmed that an external identity of an account belongs to them.', ofIdentity),
  'identity.removed': entry(
    'A user removed an external identity. The server ended the sessions that began with it.',
    ofIdentity,
  ),

  'invitation.created': entry('An invitation to an account was created or renewed.', {
    ...ofInvitation,
    ...invited,
    ...role,
  }),
  'invitation.mailed': entry('The mail server accepted or rejected an invitation mail.', {
    ...ofInvitation,
    outcome: oneOf(
      ['mailed', 'refused'],
      'the result. `mailed`: the mail server accepted the mail. `refused`: the mail server rejected the mail permanently',
    ),
  }),
  'invitation.revoked': entry('An invitation was revoked.', { ...ofInvitation, ...invited, ...role }),
  'invitation.accepted': entry('A user accepted an invitation and became a member of the account.', {
    ...ofInvitation,
    user_id: userId,
    ...role,
  }),

  'token.created': entry('An API token or an OAuth grant was created.', {
    ...ofToken,
    kind: oneOf(['api', 'oauth'], 'the kind of token. `api`: an API token. `oauth`: an OAuth grant'),
    user_id: whole('the id of the user who issued the token'),
    boards: z
      .array(z.object({ board_id: z.int(), level: z.enum(grants) }))
      .readonly()
      .describe('the boards that the token can access, each with the grant of the token as `level`'),
    capabilities: z
      .array(z.enum(capabilities))
      .readonly()
      .describe('the capabilities of the token, in addition to its grants'),
    expires_at: z
      .string()
      .nullable()
      .describe(
        'the time when the token expires; null if the token never expires; for an OAuth grant, the time until which the client can redeem its authorization code',
      ),
  }),
  'token.updated': entry('The limits or the allowed networks of an API token or an OAuth grant were changed.', {
    ...ofToken,
    ...changed,
  }),
  'token.rotated': entry('An API token got a new secret.', {
    ...ofToken,
    overlap_ends_at: z
      .string()
      .nullable()
      .describe('the time until which the old secret still works; null if it stopped working at once'),
    expires_at: z.string().nullable().describe('the time when the token expires; null if the token never expires'),
  }),
  'token.old_secret_ended': entry('The old secret of a rotated API token was ended before its time.', ofToken),
  'token.revoked': entry('An API token or an OAuth grant was revoked.', ofToken),
  'oauth.consent_denied': entry('On the consent page, a user refused to give an OAuth client access to boards.', {
    ...ofUser,
    account_id: field.accountId.optional(),
    client_id: text('the id of the OAuth client'),
  }),

  'board.created': entry('A board was created.', onBoard),
  'board.updated': entry('Fields of a board were changed.', { ...onBoard, ...changed }),
  'board.frozen': entry('A board was frozen. A frozen board accepts no ideas, votes or comments.', onBoard),
  'board.unfrozen': entry('A board was unfrozen.', onBoard),
  'board.ideas_exported': entry('A moderator downloaded ideas of a board as a CSV file.', onBoard),
  'status.added': entry('A status was added to a board.', { ...onBoard, ...key }),
  'status.updated': entry('A status was changed.', {
    ...onBoard,
    key: text('the key of the status after the change'),
    ...changed,
  }),
  'status.removed': entry('A status was removed.', { ...onBoard, ...key }),
  'tag.added': entry('A tag was added to a board.', { ...onBoard, ...tag }),
  'tag.updated': entry('A tag was changed.', { ...onBoard, ...tag, ...changed }),
  'tag.removed': entry('A tag was removed.', { ...onBoard, ...tag }),
  'idea.approved': entry('A pending idea was approved.', ofIdea),
  'idea.rejected': entry('A pending idea was rejected.', ofIdea),
  'idea.status_changed': entry('A moderator changed the status of an idea.', {
    ...ofIdea,
    from: text('the key of the status before the change'),
    to: text('the key of the status after the change'),
  }),
  'idea.tag_added': entry('A moderator added a tag to an idea.', { ...ofIdea, ...tag }),
  'idea.tag_removed': entry('A moderator removed a tag from an idea.', { ...ofIdea, ...tag }),
  'idea.merged': entry('A moderator merged an idea into another idea.', { ...ofIdea, target_id: field.targetId }),
  'idea.unmerged': entry('A moderator reversed the merge of an idea.', { ...ofIdea, target_id: field.targetId }),

  'idea.updated': entry('The author or a moderator edited an idea.', { ...ofIdea, ...changed }),
  'idea.deleted': entry('The author or a moderator deleted an idea.', {
    ...ofIdea,
    user_id: whole('the id of the author of the idea'),
  }),

  'comment.deleted': entry('The author or a moderator deleted a comment.', {
    ...ofIdea,
    comment_id: whole('the id of the comment'),
    user_id: whole('the id of the author of the comment'),
  }),

  'note.deleted': entry('A moderator deleted a note about an idea.', {
    ...ofIdea,
    note_id: whole('the id of the note'),
    user_id: whole('the id of the author of the note'),
  }),

  'idea.followed': entry('A user began to follow an idea, or the operator added a follower.', ofFollower),
  'idea.unfollowed': entry('A user stopped following an idea, or the operator removed a follower.', ofFollower),
  'notifications.read': entry('A user marked notifications as read.', {
    ...ofUser,
    count: whole('the number of unread notifications that became read'),
  }),

  'webhook.created': entry('A webhook was registered.', {
    ...ofWebhook,
    board_id: field.boardId
      .nullable()
      .describe('the id of the board of the webhook; null if the webhook covers all boards of the account'),
    origin: field.origin,
  }),
  'webhook.updated': entry('A webhook was changed.', { ...ofWebhook, ...changed, origin: field.origin }),
  'webhook.secret_rotated': entry('A new secret replaced the secret of a webhook.', {
    ...ofWebhook,
    overlap_hours: z.number().describe('how many hours after the rotation the old secret also signs deliveries'),
  }),
  'webhook.disabled': entry('A webhook was disabled.', {
    ...ofWebhook,
    reason: oneOf(
      ['administrator', 'gone', 'failing'],
      'the cause. `administrator`: a person or a program with an API token disabled the webhook. `gone`: the receiver answered 410. `failing`: all deliveries failed for five days',
    ),
  }),
  'webhook.enabled': entry('A webhook was enabled.', ofWebhook),
  'webhook.tested': entry('Somebody sent a test event to a webhook.', ofWebhook),
  'webhook.redelivered': entry('Somebody queued earlier deliveries of a webhook for another attempt.', {
    ...ofWebhook,
    deliveries: whole('the number of deliveries that were queued'),
  }),
  'webhook.deleted': entry('A webhook and its delivery log were deleted.', ofWebhook),
  'chat_channel.created': entry('A chat connection was added to a board.', {
    ...ofChannel,
    board_id: field.boardId,
    kind: oneOf(chatKinds, 'the chat service'),
  }),
  'chat_channel.disabled': entry('A chat connection was disabled.', {
    ...ofChannel,
    reason: oneOf(
      ['administrator', 'gone'],
      'the cause. `administrator`: a person disabled the chat connection. `gone`: the chat service answered 404 or 410',
    ),
  }),
  'chat_channel.enabled': entry('A chat connection was enabled.', ofChannel),
  'chat_channel.tested': entry('Somebody sent a test message to a chat connection.', ofChannel),
  'chat_channel.deleted': entry('A chat connection was deleted.', ofChannel),
};
