import { TOTP } from 'otpauth';
import { beforeEach, describe, expect, test } from 'vitest';
import { createAccount, updateAccount } from '../../server/domain/accounts/edit-account.ts';
import { type Administration, administrationIn } from '../../server/domain/administration.ts';
import { createBoard, updateBoard } from '../../server/domain/boards/edit-board.ts';
import {
  createChannel,
  deleteChannel,
  disableChannel,
  enableChannel,
  testChannel,
} from '../../server/domain/chat/channels.ts';
import { deleteComment } from '../../server/domain/comments/change-comment.ts';
import { commentOnIdea } from '../../server/domain/comments/comments.ts';
import {
  createEmbeddingSecret,
  deleteEmbeddingSecret,
  listEmbeddingSecrets,
} from '../../server/domain/embedding/secrets.ts';
import {
  cancelAccountDeletion,
  cancelUserDeletion,
  requestUserDeletion,
  scheduleAccountDeletion,
} from '../../server/domain/erasure/request-deletion.ts';
import { deleteIdea, editIdea } from '../../server/domain/ideas/change-idea.ts';
import { recordIdeaExport } from '../../server/domain/ideas/export-ideas.ts';
import { connectIdentity, disconnectIdentity } from '../../server/domain/identities/connect-identity.ts';
import {
  createProvider,
  deleteProvider,
  requireProvider,
  updateProvider,
} from '../../server/domain/identities/providers.ts';
import { signInWithIdentity } from '../../server/domain/identities/sign-in-with-identity.ts';
import { acceptInvitation } from '../../server/domain/invitations/accept-invitation.ts';
import { inviteMember } from '../../server/domain/invitations/invite-member.ts';
import { makeInvitationLink, noteDelivery } from '../../server/domain/invitations/mailed-link.ts';
import { revokeInvitation } from '../../server/domain/invitations/open-invitations.ts';
import { addMember, removeMember, setMemberRole } from '../../server/domain/members/change-members.ts';
import { findModerator } from '../../server/domain/members/find-actor.ts';
import { joinAccount } from '../../server/domain/members/join-account.ts';
import { mergeIdea, unmergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { approveIdea, rejectIdea } from '../../server/domain/moderation/moderate-idea.ts';
import { addNote, deleteNote } from '../../server/domain/notes/notes.ts';
import { followIdea, unfollowIdea } from '../../server/domain/notifications/followers.ts';
import { markRead } from '../../server/domain/notifications/notifications.ts';
import { refuseConsent } from '../../server/domain/oauth/grants.ts';
import { storeRecord } from '../../server/domain/oauth/records.ts';
import type { WriteOperation } from '../../server/domain/operation.ts';
import { completeSignIn } from '../../server/domain/second-factor/complete-sign-in.ts';
import {
  enableSecondFactor,
  regenerateRecoveryCodes,
  resetSecondFactor,
} from '../../server/domain/second-factor/second-factor.ts';
import { buildSecondFactorKeys } from '../../server/domain/second-factor/second-factor-keys.ts';
import { makeTotpSecret } from '../../server/domain/second-factor/totp.ts';
import { makeChallenge } from '../../server/domain/sign-in/challenge.ts';
import { createPasswordLink } from '../../server/domain/sign-in/password-links.ts';
import { hashOfSecret } from '../../server/domain/sign-in/secret-text.ts';
import { setPassword } from '../../server/domain/sign-in/set-password.ts';
import { addStatus, removeStatus, requireStatus, updateStatus } from '../../server/domain/statuses/board-statuses.ts';
import { setIdeaStatus } from '../../server/domain/statuses/set-idea-status.ts';
import { addTag, removeTag, requireTag, updateTag } from '../../server/domain/tags/board-tags.ts';
import { addIdeaTag, removeIdeaTag } from '../../server/domain/tags/tag-idea.ts';
import { createToken, restrictToken, revokeToken } from '../../server/domain/tokens/change-tokens.ts';
import { endOldSecret, rotateToken } from '../../server/domain/tokens/rotate-token.ts';
import { blockUser, unblockUser } from '../../server/domain/users/block-user.ts';
import { requestAddress } from '../../server/domain/users/change-address.ts';
import { createUser as makeUser, updateUser } from '../../server/domain/users/edit-user.ts';
import { recordExport } from '../../server/domain/users/export-user.ts';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  requireWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../../server/domain/webhooks/edit-webhook.ts';
import { redeliverDeadSince, sendTestEvent } from '../../server/domain/webhooks/queue-deliveries.ts';
import { Account } from '../../server/entities/account.ts';
import { Board } from '../../server/entities/board.ts';
import { EmbeddingSecret } from '../../server/entities/embedding.ts';
import type { IdentityProvider } from '../../server/entities/identity.ts';
import { User } from '../../server/entities/user.ts';
import { administrationEntries } from '../../server/observability/administration-entries.ts';
import type { AdministrationEntryName } from '../../server/observability/audit-entries.ts';
import { readAudit } from '../helpers/audit.ts';
import {
  createMember,
  createTag,
  createUser,
  createWorld,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile, testAppKey } from '../helpers/server.ts';
import { addWebhook, testSecretBox } from '../helpers/webhooks.ts';

let world: World;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  server.auditLines.length = 0;
});

/** Runs a change in a transaction. The audit log of the test server gets the audit entries of the change. */
const administer = <T>(work: (admin: Administration) => Promise<T>, actor = { by: 'operator' as const }) =>
  server.database.transaction(transaction =>
    work(administrationIn(transaction, { audit: server.dependencies.audit, actor, now: new Date() })),
  );

type Told = Record<string, unknown>;
type Change = (admin: Administration) => Promise<Told | undefined>;

/**
 * One function for each kind of audit entry. Each function prepares data and returns a change that causes an entry of
 * this kind.
 */
type Cases = Record<
  Exclude<AdministrationEntryName, 'account.erased' | 'account.exported' | 'account.imported' | 'user.erased'>,
  () => Promise<Change>
>;

const account = () => ({ account_id: world.accountId });
const board = () => ({ ...account(), board_id: world.boardId });
const boardRef = () => ({ id: world.boardId, accountId: world.accountId });

const onAccount =
  (change: (admin: Administration, one: Account) => Promise<Told>) => async (): Promise<Change> => async admin =>
    change(admin, await admin.em.findOneOrFail(Account, world.accountId));

const onBoard =
  (change: (admin: Administration, one: Board) => Promise<Told>) => async (): Promise<Change> => async admin =>
    change(admin, await admin.em.findOneOrFail(Board, boardRef()));

const onUser =
  (change: (admin: Administration, userId: number) => Promise<unknown>, told: Told = {}) =>
  async () => {
    const userId = await createUser(server);
    return async (admin: Administration) => {
      await change(admin, userId);
      return { user_id: userId, ...told };
    };
  };

const keys = buildSecondFactorKeys(testAppKey);

const withSecondFactor =
  (
    change: (admin: Administration, userId: number, recoveryCodes: string[], set_at: string) => Promise<unknown>,
    told: Told = {},
  ) =>
  async () => {
    const userId = await createUser(server);
    const secret = makeTotpSecret();
    const set_at = await administer(admin => setPassword(admin, userId, '$argon2id$a-hash'));
    const codes = await administer(admin => {
      const code = new TOTP({ secret }).generate({ timestamp: admin.now.getTime() });
      return enableSecondFactor(admin, keys, { userId, tokenHash: Buffer.alloc(32) }, { secret, code });
    });
    return async (admin: Administration) => {
      await change(admin, userId, codes, set_at);
      return { user_id: userId, ...told };
    };
  };

const onWebhook =
  (
    change: (admin: Administration, id: number) => Promise<unknown>,
    told: Told = {},
    arrange = async (_: number) => {},
  ) =>
  async () => {
    const { id } = await addWebhook(server, world, { url: 'https://hooks.example.com/a-secret-path?key=abc' });
    await arrange(id);
    return async (admin: Administration) => {
      await change(admin, id);
      return { ...account(), webhook_id: id, ...told };
    };
  };

const newChannel = (admin: Administration) =>
  createChannel(admin, testSecretBox, { ...boardRef(), boardId: world.boardId, kind: 'slack', url: slackUrl });
const slackUrl = 'https://hooks.slack.com/services/T0/B0/a-secret-path';

const onChannel =
  (change: (admin: Administration, channel: { accountId: number; id: number }) => Promise<unknown>, told: Told = {}) =>
  async () => {
    const { id } = await administer(newChannel);
    return async (admin: Administration) => {
      await change(admin, { accountId: world.accountId, id });
      return { ...account(), channel_id: id, ...told };
    };
  };

const onMember =
  (
    change: (admin: Administration, member: { accountId: number; userId: number }) => Promise<unknown>,
    told: Told = {},
  ) =>
  async () => {
    const userId = await createMember(server, world.accountId, 'admin');
    return async (admin: Administration) => {
      await change(admin, { accountId: world.accountId, userId });
      return { ...account(), user_id: userId, ...told };
    };
  };

/** Matches the masked email address of a test user. */
const maskedAddress = expect.stringMatching(/^.\*\*\*@e\*\*\*\.com#[0-9a-f]{12}$/);

const onInvitation =
  (
    change: (admin: Administration, id: number, userId: number) => Promise<unknown>,
    told: (userId: number) => Told = () => ({}),
  ) =>
  async () => {
    const userId = await createUser(server);
    const { id } = await administer(async admin => {
      const { email } = await admin.em.findOneOrFail(User, userId);
      return inviteMember(admin, { accountId: world.accountId, email: email ?? '', role: 'admin' }, { isMailed: true });
    });
    return async (admin: Administration) => {
      await change(admin, id, userId);
      return { ...account(), invitation_id: id, ...told(userId) };
    };
  };

const onPending = (change: (admin: Administration, ideaId: number) => Promise<unknown>) => async () => {
  const ideaId = await insertIdea(server, world, { moderationState: 'pending' });
  return async (admin: Administration) => {
    await change(admin, ideaId);
    return { ...account(), idea_id: ideaId };
  };
};

const onTag =
  (change: (admin: Administration, name: string) => Promise<unknown>, told: Told = {}) =>
  async () => {
    const tagId = await createTag(server, world.accountId, world.boardId, 'Billing');
    return async (admin: Administration) => {
      await change(admin, 'Billing');
      return { ...board(), tag_id: tagId, ...told };
    };
  };

/**
 * Builds a change of an idea by a signed-in moderator. The server writes no audit entry for the same change with an API
 * token.
 */
const onIdea =
  (
    change: (op: WriteOperation, ideaId: number, tagId: number) => Promise<unknown>,
    told: Told | ((ids: { tagId: number }) => Told) = {},
    arrange = async (_ids: { ideaId: number; tagId: number }) => {},
  ) =>
  async () => {
    const ideaId = await insertIdea(server, world);
    const tagId = await createTag(server, world.accountId, world.boardId);
    await arrange({ ideaId, tagId });
    return async (admin: Administration) => {
      const moderator = { accountId: world.accountId, userId: world.ownerId };
      await change({ ...admin, actor: await findModerator(admin, moderator, { ideaId }) }, ideaId, tagId);
      return { ...account(), idea_id: ideaId, ...(typeof told === 'function' ? told({ tagId }) : told) };
    };
  };

const onMerged =
  (change: (op: WriteOperation, ideaId: number, targetId: number) => Promise<unknown>, isMerged = false) =>
  async (): Promise<Change> => {
    const targetId = await insertIdea(server, world);
    return onIdea(
      (op, ideaId) => change(op, ideaId, targetId),
      { target_id: targetId },
      async ({ ideaId }) => {
        if (isMerged) await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));
      },
    )();
  };

const onFollower =
  (
    change: (
      admin: Administration,
      accountId: number,
      following: { ideaId: number; userId: number },
    ) => Promise<unknown>,
    isFollowing = false,
  ) =>
  async (): Promise<Change> => {
    const { accountId } = world;
    const following = {
      ideaId: await insertIdea(server, world),
      userId: await createMember(server, accountId, 'member'),
    };
    if (isFollowing) await administer(admin => followIdea(admin, accountId, following));
    return async admin => {
      await change(admin, accountId, following);
      return { ...account(), idea_id: following.ideaId, user_id: following.userId };
    };
  };

const provider = { name: 'Acme', clientId: 'client', clientSecret: 'a secret', admitsEverybody: false };

const onProvider =
  (change: (admin: Administration, one: IdentityProvider) => Promise<void>, told: Told) => async () => {
    const input = { ...provider, accountId: world.accountId, issuer: 'https://id.example.com' };
    const { id } = await administer(admin => createProvider(admin, testSecretBox, input));
    return async (admin: Administration) => {
      await change(admin, await requireProvider(admin, world.accountId, id));
      return { ...account(), provider_id: id, ...told };
    };
  };

const identity = () => ({ accountId: world.accountId, providerId: null, subject: `person-${Math.random()}` });

const cases: Cases = {
  'account.created': async () => async admin => {
    const owner = { email: `${Date.now()}@example.com`, name: 'Ada' };
    const made = await createAccount(admin, { name: 'Acme', slug: `acme-${Date.now()}`, plan: 'business', owner });
    const [user] = await admin.em.find(User, { email: owner.email });
    return { account_id: made.id, user_id: user?.id, plan: 'business' };
  },
  'account.updated': onAccount(async (admin, one) => {
    await updateAccount(admin, one, { name: 'Another', slug: one.slug });
    return { ...account(), changed: ['name'] };
  }),
  'embedding_secret.created': async () => async admin => {
    await createEmbeddingSecret(admin, testSecretBox, world.accountId);
    const { id } = await admin.em.findOneOrFail(EmbeddingSecret, { accountId: world.accountId });
    return { ...account(), embedding_secret_id: id };
  },
  'embedding_secret.deleted': async () => {
    await administer(admin => createEmbeddingSecret(admin, testSecretBox, world.accountId));
    return async admin => {
      const [{ id } = { id: 0 }] = await listEmbeddingSecrets(admin, world.accountId);
      await deleteEmbeddingSecret(admin, world.accountId, id);
      return { ...account(), embedding_secret_id: id };
    };
  },
  'account.plan_changed': onAccount(async (admin, one) => {
    await updateAccount(admin, one, { plan: 'business' });
    return { ...account(), from: 'community', to: 'business' };
  }),
  'account.deletion_scheduled': onAccount(async admin => {
    await scheduleAccountDeletion(admin, world.accountId);
    return account();
  }),
  'account.deletion_cancelled': async () => {
    await administer(admin => scheduleAccountDeletion(admin, world.accountId));
    return async admin => {
      await cancelAccountDeletion(admin, world.accountId);
      return account();
    };
  },
  'user.created': async () => async admin => {
    const { id } = await makeUser(admin, { email: `Grace-${world.accountId}@mail.example.org`, name: 'Grace' });
    return { user_id: id, email: expect.stringMatching(/^G\*\*\*@m\*\*\*\.org#[0-9a-f]{12}$/) };
  },
  'user.updated': onUser(
    async (admin, id) => {
      const user = await admin.em.findOneOrFail(User, id);
      await updateUser(admin, user, {
        email: `new-${id}@example.com`,
        notificationEmail: 'n@example.com',
        name: user.name,
      });
    },
    { changed: ['email', 'notification_email'], email: expect.stringMatching(/^n\*\*\*@e\*\*\*\.com#[0-9a-f]{12}$/) },
  ),
  'user.address_requested': onUser(
    (admin, userId) => requestAddress(admin, { userId, field: 'email', address: `asked-${userId}@example.com` }),
    { field: 'email', email: expect.stringMatching(/^a\*\*\*@e\*\*\*\.com#[0-9a-f]{12}$/) },
  ),
  'user.blocked': onMember((admin, member) => blockUser(admin, member, 'Writes to ada@example.com')),
  'user.unblocked': async () => {
    const userId = await createMember(server, world.accountId, 'member');
    await administer(admin => blockUser(admin, { accountId: world.accountId, userId }));
    return async admin => {
      await unblockUser(admin, { accountId: world.accountId, userId });
      return { ...account(), user_id: userId };
    };
  },
  'user.data_exported': onUser(async (admin, userId) => recordExport(admin, userId)),
  'user.deletion_requested': onUser(requestUserDeletion),
  'user.deletion_cancelled': async () => {
    const userId = await createUser(server);
    await administer(admin => requestUserDeletion(admin, userId));
    return async admin => {
      await cancelUserDeletion(admin, userId);
      return { user_id: userId };
    };
  },
  'password.set': onUser((admin, id) => setPassword(admin, id, '$argon2id$a-hash'), { sessions: 0 }),
  'password.link_created': onUser(createPasswordLink),
  'second_factor.enabled': onUser(
    async (admin, userId) => {
      const secret = makeTotpSecret();
      const code = new TOTP({ secret }).generate({ timestamp: admin.now.getTime() });
      await enableSecondFactor(admin, keys, { userId, tokenHash: Buffer.alloc(32) }, { secret, code });
    },
    { sessions: 0 },
  ),
  'second_factor.disabled': withSecondFactor((admin, userId) => resetSecondFactor(admin, userId)),
  'second_factor.codes_regenerated': withSecondFactor((admin, userId, [code = '']) =>
    regenerateRecoveryCodes(admin, keys, userId, code),
  ),
  'second_factor.recovery_used': withSecondFactor(
    async (admin, id, [code = ''], set_at) => {
      const { token } = await makeChallenge(admin, { id, set_at }, admin.now);
      const challenge = { id, set_at, email: 'eve@example.com', tokenHash: hashOfSecret(token) ?? Buffer.alloc(32) };
      const expiresAt = new Date(admin.now.getTime() + 60_000);
      await completeSignIn(admin, keys, challenge, code, { now: admin.now, expiresAt, previous: undefined });
    },
    { codes_left: 9 },
  ),
  'member.added': onUser(
    async (admin, userId) => addMember(admin, { accountId: world.accountId, userId }, 'moderator'),
    {
      account_id: expect.any(Number),
      role: 'moderator',
    },
  ),
  'member.joined': async () => {
    const userId = await createUser(server);
    await server.sql('update users set confirmed_email = canonical_email where id = $1', [userId]);
    await server.sql(`update accounts set join_rule = 'everybody' where id = $1`, [world.accountId]);
    return async admin => {
      await joinAccount(admin, { accountId: world.accountId, userId });
      return { ...account(), user_id: userId };
    };
  },
  'member.role_changed': onMember((admin, member) => setMemberRole(admin, member, 'member'), {
    from: 'admin',
    to: 'member',
  }),
  'member.removed': onMember(removeMember, { role: 'admin' }),
  'identity_provider.created': async () => async admin => {
    const made = await createProvider(admin, testSecretBox, {
      ...provider,
      accountId: world.accountId,
      issuer: 'https://id.example.com',
    });
    return { ...account(), provider_id: made.id };
  },
  'identity_provider.updated': onProvider(
    async (admin, one) => {
      await updateProvider(admin, testSecretBox, one, { ...provider, name: 'Other', clientSecret: undefined });
    },
    { changed: ['name'] },
  ),
  'identity_provider.deleted': onProvider(deleteProvider, { identities: 0 }),
  'identity.created': async () => {
    const asserted = { ...identity(), address: null, isAddressVerified: false, name: 'Grace', isAdmitted: true };
    return async admin => {
      const terms = { now: admin.now, expiresAt: new Date(admin.now.getTime() + 60_000), previous: undefined };
      const outcome = await signInWithIdentity(
        () => admin,
        asserted,
        terms,
        async () => true,
      );
      const [user_id, identity_id] = 'identityId' in outcome ? [outcome.userId, outcome.identityId] : [];
      return { ...account(), provider_id: null, user_id, identity_id };
    };
  },
  'identity.connected': async () => {
    const connection = { ...identity(), userId: await createUser(server) };
    return async admin => {
      await connectIdentity(admin, connection, { isAdmitted: false });
      return { ...account(), provider_id: null, user_id: connection.userId, identity_id: expect.any(Number) };
    };
  },
  'identity.removed': async () => {
    const userId = await createUser(server);
    const { accountId } = world;
    await administer(admin => connectIdentity(admin, { ...identity(), userId }, { isAdmitted: false }));
    const [known] = await server.sql<{ id: number }>('select id from identities where user_id = $1', [userId]);
    const identityId = known?.id ?? 0;
    return async admin => {
      await disconnectIdentity(admin, { accountId, identityId, userId });
      return { ...account(), provider_id: null, user_id: userId, identity_id: identityId };
    };
  },
  'invitation.created': async () => async admin => {
    const input = { accountId: world.accountId, email: 'eve@example.com', role: 'admin' as const };
    const { id } = await inviteMember(admin, input, { isMailed: false });
    return { ...account(), invitation_id: id, email: maskedAddress, role: 'admin' };
  },
  'invitation.mailed': onInvitation(
    async (admin, invitationId) => {
      const invitation = { accountId: world.accountId, invitationId };
      const link = await makeInvitationLink(admin, invitation, admin.now);
      if (link) await noteDelivery(admin, { ...invitation, tokenHash: link.tokenHash }, 'mailed');
    },
    () => ({ outcome: 'mailed' }),
  ),
  'invitation.revoked': onInvitation(
    (admin, id) => revokeInvitation(admin, world.accountId, id),
    () => ({ email: maskedAddress, role: 'admin' }),
  ),
  'invitation.accepted': onInvitation(
    async (admin, id, userId) => {
      const invitation = { accountId: world.accountId, invitationId: id };
      const link = await makeInvitationLink(admin, invitation, admin.now);
      if (link) await acceptInvitation(admin, link.tokenHash, userId);
    },
    userId => ({ user_id: userId, role: 'admin' }),
  ),
  'token.created': async () => async admin => {
    const expiresAt = new Date('2100-01-01T00:00:00Z');
    const boards = [{ boardId: world.boardId, grant: 'write' as const }];
    const input = { accountId: world.accountId, issuerId: world.ownerId, name: 'Bot', boards, expiresAt };
    const { token } = await createToken(admin, { ...input, capabilities: ['manage_webhooks'] });
    return {
      ...account(),
      token_id: token.id,
      kind: 'api',
      user_id: world.ownerId,
      boards: [{ board_id: world.boardId, level: 'write' }],
      capabilities: ['manage_webhooks'],
      expires_at: '2100-01-01T00:00:00.000Z',
    };
  },
  'token.updated': async () => {
    const { id } = await issueToken(server, world, 'read');
    return async admin => {
      const restrictions = { readLimit: 5, writeLimit: null, allowedNetworks: ['192.0.2.0/24'] };
      await restrictToken(admin, world.accountId, id, restrictions);
      return { ...account(), token_id: id, changed: ['read_limit', 'allowed_networks'] };
    };
  },
  'token.rotated': async () => {
    const { id } = await issueToken(server, world, 'read');
    return async admin => {
      await rotateToken(admin, world.accountId, id, { overlapHours: 0, expiresAt: new Date('2100-01-01T00:00:00Z') });
      const expiry = { overlap_ends_at: null, expires_at: '2100-01-01T00:00:00.000Z' };
      return { ...account(), token_id: id, ...expiry };
    };
  },
  'token.old_secret_ended': async () => {
    const { id } = await issueToken(server, world, 'read');
    await administer(admin => rotateToken(admin, world.accountId, id, { overlapHours: 1 }));
    return async admin => {
      await endOldSecret(admin, world.accountId, id);
      return { ...account(), token_id: id };
    };
  },
  'token.revoked': async () => {
    const { id } = await issueToken(server, world, 'read');
    return async admin => {
      await revokeToken(admin, world.accountId, id);
      return { ...account(), token_id: id };
    };
  },
  'oauth.consent_denied': async () => {
    const request = { id: 'a request', payload: {}, now: new Date(), expiresAt: new Date('2100-01-01') };
    await storeRecord(server.database, { model: 'Interaction', ...request });
    return async admin => {
      const told = { user_id: world.ownerId, ...account(), client_id: 'a client' };
      await refuseConsent(admin, {
        interactionId: 'a request',
        userId: world.ownerId,
        accountId: world.accountId,
        clientId: 'a client',
        result: { error: 'access_denied' },
      });
      return told;
    };
  },
  'board.created': async () => async admin => {
    const { id } = await createBoard(admin, { accountId: world.accountId, slug: 'new', name: 'New' });
    return { ...account(), board_id: id };
  },
  'board.updated': onBoard(async (admin, one) => {
    const votingOpenAt = new Date('2026-01-01T00:00:00Z');
    await updateBoard(admin, one, {
      name: one.name,
      description: 'Ask ada@example.com',
      preModeration: true,
      isPublic: true,
      votingOpenAt,
    });
    return { ...board(), changed: ['description', 'pre_moderation', 'is_public', 'voting_open_at'] };
  }),
  'board.frozen': onBoard(async (admin, one) => {
    await updateBoard(admin, one, { isFrozen: true });
    return board();
  }),
  'board.unfrozen': async () => {
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    return async admin => {
      await updateBoard(admin, await admin.em.findOneOrFail(Board, boardRef()), { isFrozen: false });
      return board();
    };
  },
  'board.ideas_exported': async () => async admin => {
    recordIdeaExport(admin, world);
    return board();
  },
  'status.added': async () => async admin => {
    await addStatus(admin, boardRef(), { key: 'in_review', category: 'active', label: 'In review' });
    return { ...board(), key: 'in_review' };
  },
  'status.updated': async () => async admin => {
    const status = await requireStatus(admin, boardRef(), 'done');
    await updateStatus(admin, status, { key: 'shipped', label: status.label, allowVotes: false });
    return { ...board(), key: 'shipped', changed: ['key', 'allow_votes'] };
  },
  'status.removed': async () => async admin => {
    await removeStatus(admin, await requireStatus(admin, boardRef(), 'done'));
    return { ...board(), key: 'done' };
  },
  'tag.added': async () => async admin => {
    const { id } = await addTag(admin, boardRef(), { name: 'Payments', color: '#0f766e' });
    return { ...board(), tag_id: id };
  },
  'tag.updated': onTag(
    async (admin, name) => updateTag(admin, await requireTag(admin, boardRef(), name), { color: '#000000' }),
    { changed: ['color'] },
  ),
  'tag.removed': onTag(async (admin, name) => removeTag(admin, await requireTag(admin, boardRef(), name))),
  'idea.approved': onPending((admin, ideaId) => approveIdea(admin, world.accountId, ideaId)),
  'idea.rejected': onPending((admin, ideaId) => rejectIdea(admin, world.accountId, ideaId, 'Ask ada@example.com')),
  'idea.status_changed': onIdea((op, id) => setIdeaStatus(op, id, 'planned'), { from: 'open', to: 'planned' }),
  'idea.tag_added': onIdea(addIdeaTag, ({ tagId }) => ({ tag_id: tagId })),
  'idea.tag_removed': onIdea(
    removeIdeaTag,
    ({ tagId }) => ({ tag_id: tagId }),
    async ({ ideaId, tagId }) => {
      await runAsUser(server, world, world.ownerId, op => addIdeaTag(op, ideaId, tagId));
    },
  ),
  'idea.merged': onMerged(mergeIdea),
  'idea.unmerged': onMerged(unmergeIdea, true),
  'idea.updated': async () => {
    const ideaId = await insertIdea(server, world);
    return async admin => {
      const actor = await findModerator(admin, { accountId: world.accountId, userId: world.ownerId }, { ideaId });
      await editIdea({ ...admin, actor }, ideaId, { title: 'Another title', body: 'Another body' });
      return { ...account(), idea_id: ideaId, changed: ['title', 'body'] };
    };
  },
  'idea.deleted': async () => {
    const ideaId = await insertIdea(server, world);
    return async admin => {
      const actor = await findModerator(admin, { accountId: world.accountId, userId: world.ownerId }, { ideaId });
      await deleteIdea({ ...admin, actor }, ideaId);
      return { ...account(), idea_id: ideaId, user_id: expect.any(Number) };
    };
  },
  'comment.deleted': async () => {
    const ideaId = await insertIdea(server, world);
    const { id } = await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'A comment'));
    return async admin => {
      const actor = await findModerator(admin, { accountId: world.accountId, userId: world.ownerId }, { ideaId });
      await deleteComment({ ...admin, actor }, { ideaId, commentId: id });
      return { ...account(), idea_id: ideaId, comment_id: id, user_id: world.ownerId };
    };
  },
  'note.deleted': async () => {
    const ideaId = await insertIdea(server, world);
    const { id } = await runAsUser(server, world, world.ownerId, op => addNote(op, ideaId, 'A note'));
    return async admin => {
      const actor = await findModerator(admin, { accountId: world.accountId, userId: world.ownerId }, { ideaId });
      await deleteNote({ ...admin, actor }, { ideaId, noteId: id });
      return { ...account(), idea_id: ideaId, note_id: id, user_id: world.ownerId };
    };
  },
  'idea.followed': onFollower(followIdea),
  'idea.unfollowed': onFollower((admin, _, following) => unfollowIdea(admin, following), true),
  'notifications.read': async () => {
    const userId = await createUser(server);
    const { id } = await addWebhook(server, world, { url: 'https://hooks.example.com/a-secret-path?key=abc' });
    await server.sql(
      `insert into notifications (account_id, user_id, endpoint_id, kind) values ($1, $2, $3, 'webhook.disabled')`,
      [world.accountId, userId, id],
    );
    return async admin => {
      await markRead(admin, userId, 'all');
      return { user_id: userId, count: 1 };
    };
  },
  'webhook.created': async () => async admin => {
    const url = 'https://hooks.example.com/a-secret-path?key=abc';
    const { endpoint } = await createWebhook(admin, testSecretBox, { accountId: world.accountId, boardId: null, url });
    return { ...account(), webhook_id: endpoint.id, board_id: null, origin: 'https://hooks.example.com' };
  },
  'webhook.updated': onWebhook(
    async (admin, id) =>
      updateWebhook(admin, await requireWebhook(admin, world.accountId, id), {
        url: 'https://other.example.com/a-secret-path',
      }),
    { changed: ['url'], origin: 'https://other.example.com' },
  ),
  'webhook.secret_rotated': onWebhook(
    async (admin, id) =>
      rotateWebhookSecret(admin, testSecretBox, await requireWebhook(admin, world.accountId, id), 48),
    { overlap_hours: 48 },
  ),
  'webhook.disabled': onWebhook(
    async (admin, id) => disableWebhook(admin, await requireWebhook(admin, world.accountId, id), 'Ask ada@example.com'),
    { reason: 'administrator' },
  ),
  'webhook.enabled': onWebhook(
    async (admin, id) => enableWebhook(admin, await requireWebhook(admin, world.accountId, id)),
    {},
    async id => {
      await server.sql(`update webhook_endpoints set disabled_at = now(), disabled_reason = 'gone' where id = $1`, [
        id,
      ]);
    },
  ),
  'webhook.tested': onWebhook((admin, id) => sendTestEvent(admin, world.accountId, id)),
  'webhook.redelivered': onWebhook(
    (admin, id) => redeliverDeadSince(admin, world.accountId, id, new Date(0)),
    { deliveries: 2 },
    async id => {
      for (const _ of [1, 2]) await administer(admin => sendTestEvent(admin, world.accountId, id));
      await server.sql(`update webhook_deliveries set state = 'dead' where endpoint_id = $1`, [id]);
    },
  ),
  'webhook.deleted': onWebhook(async (admin, id) =>
    deleteWebhook(admin, await requireWebhook(admin, world.accountId, id)),
  ),
  'chat_channel.created': async () => async admin => {
    const { id } = await newChannel(admin);
    return { ...board(), channel_id: id, kind: 'slack' };
  },
  'chat_channel.disabled': onChannel(disableChannel, { reason: 'administrator' }),
  'chat_channel.enabled': async () => {
    const { id } = await administer(newChannel);
    await administer(admin => disableChannel(admin, { accountId: world.accountId, id }));
    return async admin => {
      await enableChannel(admin, { accountId: world.accountId, id });
      return { ...account(), channel_id: id };
    };
  },
  'chat_channel.tested': onChannel((admin, channel) => testChannel(admin, testSecretBox, channel)),
  'chat_channel.deleted': onChannel(deleteChannel),
};

const once = new Set([
  'board.ideas_exported',
  'identity_provider.created',
  'user.data_exported',
  'account.created',
  'invitation.created',
  'user.created',
  'token.created',
  'token.rotated',
  'webhook.created',
  'chat_channel.created',
  'embedding_secret.created',
  'password.set',
  'password.link_created',
  'user.address_requested',
  'webhook.secret_rotated',
  'webhook.tested',
  'chat_channel.tested',
]);

describe.each(Object.entries(cases))('the audit entry %s', (event, arrange) => {
  test('the server writes the audit entry of an administrative change after the commit, and writes none after a rollback or a change without effect', async () => {
    const change = await arrange();
    server.auditLines.length = 0;
    const undone = administer(async admin => {
      await change(admin);
      throw new Error('roll back');
    });
    await expect(undone).rejects.toThrow('roll back');
    expect(server.auditLines).toEqual([]);

    const told = await administer(async admin => {
      const fields = await change(admin);
      expect(server.auditLines).toEqual([]);
      return fields;
    });
    // The server may write other audit entries for the same change, such as an entry for the owner of a new account.
    const lines = readAudit(server.auditLines).filter(line => line.event === event);
    expect(lines).toEqual([{ event, time: expect.any(String), by: 'operator', ...told }]);
    expect(server.auditLines.join('')).not.toMatch(/a-secret-path|ada@|key=|ib_|whsec_/);

    server.auditLines.length = 0;
    // If the same change runs again, the server must write no audit entry, whether it refuses the change or changes
    // nothing.
    if (!once.has(event)) await administer(change).catch(() => {});
    expect(server.auditLines).toEqual([]);
  });
});

test('this file tests each kind of audit entry about administration, except the entries about erasures, exports and imports', () => {
  const erasures = ['account.erased', 'account.exported', 'account.imported', 'user.erased'];
  expect(Object.keys(administrationEntries).sort()).toEqual([...Object.keys(cases), ...erasures].sort());
});

test('the audit entry of a change contains the id of the user who made the change', async () => {
  const actor = { by: 'user' as const, by_user_id: world.ownerId };
  await server.database.transaction(async transaction => {
    const admin = administrationIn(transaction, { audit: server.dependencies.audit, actor, now: new Date() });
    await updateBoard(admin, await admin.em.findOneOrFail(Board, boardRef()), { isFrozen: true });
  });
  expect(readAudit(server.auditLines)).toMatchObject([
    { event: 'board.frozen', by: 'user', by_user_id: world.ownerId },
  ]);
});

test('the server writes the audit entries of a retried transaction only once', async () => {
  let tries = 0;
  await administer(async admin => {
    tries += 1;
    await updateBoard(admin, await admin.em.findOneOrFail(Board, boardRef()), { isFrozen: true });
    if (tries === 1) await admin.em.execute(`do $$ begin raise exception 'again' using errcode = '40001'; end $$`);
  });
  expect(tries).toBe(2);
  expect(readAudit(server.auditLines)).toMatchObject([{ event: 'board.frozen' }]);
});
