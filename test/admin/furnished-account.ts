import { createChannel } from '../../server/domain/chat/channels.ts';
import { connectIdentity } from '../../server/domain/identities/connect-identity.ts';
import { buildConnectionTokens } from '../../server/domain/identities/connection-tokens.ts';
import { createProvider } from '../../server/domain/identities/providers.ts';
import { inviteMember } from '../../server/domain/invitations/invite-member.ts';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { followIdea } from '../../server/domain/notifications/followers.ts';
import { setPicture } from '../../server/domain/pictures/pictures.ts';
import { setIdeaStatus } from '../../server/domain/statuses/set-idea-status.ts';
import { blockUser } from '../../server/domain/users/block-user.ts';
import { letEmbed } from '../helpers/embedding.ts';
import { createBoard, createMember, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import type { TestServer } from '../helpers/server.ts';
import { addWebhook, administer, testSecretBox } from '../helpers/webhooks.ts';

/** Creates an account with data for every admin page. Its owner is also a member of another account. */
export async function furnishAccount(server: TestServer, receiverUrl: string) {
  const other = await createWorld(server);
  const world = await createWorld(server, { name: 'Web app', isPublic: true, preModeration: true });
  const { accountId, boardId } = world;
  await createBoard(server, accountId, { name: 'Frozen', slug: 'frozen', isFrozen: true });
  const ownerId = await createMember(server, accountId, 'owner', 'Ada Osei');
  const benId = await createMember(server, accountId, 'moderator', 'Ben');
  const eveId = await createMember(server, accountId, 'member', 'Eve');
  await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
    other.accountId,
    ownerId,
  ]);
  await addWebhook(server, world, { url: receiverUrl });
  await letEmbed(server, world);
  const tagId = await createTag(server, accountId, boardId, 'Mobile');
  const ideaId = await insertIdea(server, world, { title: 'Dark mode', authorId: eveId });
  const otherId = await insertIdea(server, world, { title: 'Exports', authorId: eveId });
  const mergedId = await insertIdea(server, world, { title: 'Night mode', authorId: eveId });
  const pendingId = await insertIdea(server, world, { title: 'Imports', authorId: eveId, moderationState: 'pending' });
  await insertIdea(server, world, { title: 'Buy now', authorId: eveId, moderationState: 'rejected' });
  await server.sql('insert into idea_tags (idea_id, tag_id, account_id) values ($1, $2, $3)', [
    ideaId,
    tagId,
    accountId,
  ]);
  await server.sql(
    `insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, 'We would use it every day.')`,
    [accountId, ideaId, benId],
  );
  const [note] = await server.sql<{ id: number }>(
    `insert into idea_notes (account_id, idea_id, author_id, body) values ($1, $2, $3, 'Three customers asked.') returning id`,
    [accountId, ideaId, benId],
  );
  await administer(server, async admin => {
    await followIdea(admin, accountId, { ideaId, userId: ownerId });
    await setPicture(admin, world.ownerId, Buffer.from('a picture'));
    await blockUser(admin, { accountId, userId: eveId }, 'Spam');
    await createChannel(admin, testSecretBox, {
      accountId,
      boardId,
      kind: 'slack',
      url: 'https://hooks.slack.com/services/T0/B0/secret',
      name: '#ideas',
    });
    await inviteMember(admin, { accountId, email: 'kim@example.com', role: 'moderator' }, { isMailed: true });
  });
  const provider = await administer(server, admin =>
    createProvider(admin, testSecretBox, {
      accountId,
      issuer: 'https://id.example.com',
      name: 'Acme',
      clientId: 'idea-board',
      clientSecret: 'a secret',
      admitsEverybody: true,
    }),
  );
  const identity = { accountId, providerId: provider.id, userId: ownerId, subject: 'ada' };
  await administer(server, admin => connectIdentity(admin, identity, { isAdmitted: false }));
  const tokens = buildConnectionTokens(server.dependencies.appKey);
  const soon = new Date(Date.now() + 600_000);
  await runAsUser(server, world, benId, op => setIdeaStatus(op, ideaId, 'planned'));
  await runAsUser(server, world, benId, op => mergeIdea(op, mergedId, ideaId));
  await issueToken(server, world, 'moderate', { issuerId: ownerId, name: 'Triage' });
  await runJobs(server);
  const [first, second] = await server.sql<{ slug: string }>(
    'select slug from accounts where id in ($1, $2) order by id desc',
    [accountId, other.accountId],
  );
  return {
    world: { ...world, accountSlug: first?.slug },
    ownerId,
    ideaId,
    noteId: note?.id,
    otherId,
    mergedId,
    pendingId,
    secondAccount: second?.slug,
    providerKey: provider.key,
    connectionToken: tokens.make({ ...identity, subject: 'ada at work', canonicalEmail: 'ada@example.com' }, soon),
  };
}
