import { expect, test } from 'vitest';
import { deleteComment, editComment } from '../../../server/domain/comments/change-comment.ts';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { moveIdeas } from '../../../server/domain/erasure/move-ideas.ts';
import { redactActed } from '../../../server/domain/erasure/redact-events.ts';
import { deleteIdea, editIdea } from '../../../server/domain/ideas/change-idea.ts';
import { mergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { createMember, createUser, createWorld, insertIdea } from '../../helpers/fixtures.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile } from '../../helpers/server.ts';

interface Shown {
  actor: object;
  idea: { author: object };
  target: { author: object };
}

let placeholder: { id: number; name: string };

const server = await startServerForFile();
const world = await createWorld(server);
placeholder = { id: await createUser(server, 'Deleted user'), name: 'Deleted user' };

/** Merges an idea by the user `userId` into an idea by the user `targetAuthorId`. Returns the id of the event. */
async function recordMerge(userId: number, targetAuthorId: number): Promise<string> {
  const ideaId = await insertIdea(server, world, { authorId: userId });
  const targetId = await insertIdea(server, world, { authorId: targetAuthorId });
  await runAsUser(server, world, userId, op => mergeIdea(op, ideaId, targetId));
  const [event] = await server.sql<{ id: string }>('select id from events where idea_id = $1', [ideaId]);
  return event?.id ?? '';
}

async function shownBy(eventId: string) {
  const [event] = await server.sql<{ data: Shown | null; body: { data: Shown }; actor_id: number }>(
    'select data, body, actor_id from events where id = $1',
    [eventId],
  );
  if (!event) throw new Error('The event is gone');
  return event;
}

const redactionOf = (userId: number) => ({ accountId: world.accountId, userId, placeholder, batchSize: 2 });

test("after the erasure of a user, the columns `data` and `body` of the user's events show the placeholder for erased users as actor and author", async () => {
  const userId = await createMember(server, world.accountId, 'moderator', 'Ada');
  const eventIds = [];
  for (let n = 0; n < 3; n++) eventIds.push(await recordMerge(userId, world.ownerId));
  const before = await shownBy(eventIds[0] ?? '');
  expect(before.data?.actor).toMatchObject({ id: userId, name: 'Ada' });

  expect(await redactActed(server.database, redactionOf(userId))).toBe(3);
  for (const eventId of eventIds) {
    const { data, body, actor_id } = await shownBy(eventId);
    expect(actor_id).toBe(placeholder.id);
    for (const shown of [data, body.data]) {
      expect(shown?.actor).toEqual({ ...placeholder, token_id: null });
      expect(shown?.idea.author).toEqual(placeholder);
      expect(shown?.target.author).toEqual({ id: world.ownerId, name: 'The owner' });
    }
  }
  const { data } = await shownBy(eventIds[0] ?? '');
  expect({ ...data, actor: null, idea: null }).toEqual({ ...before.data, actor: null, idea: null });
});

test("the columns `data` and `body` of an event about an erased user's idea show the placeholder for erased users as the idea's author", async () => {
  const userId = await createMember(server, world.accountId, 'member', 'Jun');
  const eventId = await recordMerge(world.ownerId, userId);
  expect(await moveIdeas(server.database, redactionOf(userId), new Date())).toBe(1);
  const { data, body } = await shownBy(eventId);
  expect([data?.target.author, body.data.target.author]).toEqual([placeholder, placeholder]);
  expect([data?.actor, body.data.actor]).toEqual(
    Array(2).fill({ id: world.ownerId, name: 'The owner', token_id: null }),
  );
});

test('an erasure writes the placeholder for erased users into the column `body` of an event that an older server stored without `data`, and leaves `data` empty', async () => {
  const userId = await createMember(server, world.accountId, 'moderator', 'Kim');
  const eventIds = [await recordMerge(userId, world.ownerId), await recordMerge(world.ownerId, userId)];
  await server.sql('update events set data = null where id = any ($1)', [eventIds]);
  await redactActed(server.database, redactionOf(userId));
  await moveIdeas(server.database, redactionOf(userId), new Date());
  const [acted, about] = [await shownBy(eventIds[0] ?? ''), await shownBy(eventIds[1] ?? '')];
  expect([acted.data, about.data]).toEqual([null, null]);
  expect(acted.body.data.actor).toEqual({ ...placeholder, token_id: null });
  expect(about.body.data.target.author).toEqual(placeholder);
});

test("after a moderator has edited and deleted a user's idea and comment, the erasure of the user leaves no event with the user's name", async () => {
  const userId = await createMember(server, world.accountId, 'member', 'Zoe Zebra');
  const [ideaId, other] = [await insertIdea(server, world, { authorId: userId }), await insertIdea(server, world)];
  const { id: commentId } = await runAsUser(server, world, userId, op => commentOnIdea(op, other, 'Mine.'));
  await runAsUser(server, world, world.ownerId, async op => {
    await editIdea(op, ideaId, { title: 'Edited' });
    await editComment(op, { ideaId: other, commentId }, { body: 'Edited.' });
    await deleteComment(op, { ideaId: other, commentId });
    await deleteIdea(op, ideaId);
  });
  const naming = () => server.sql(`select type from events where concat(data, body) like '%Zoe Zebra%' order by type`);
  expect(await naming()).toEqual([{ type: 'comment.created' }, { type: 'idea.deleted' }, { type: 'idea.updated' }]);
  await redactActed(server.database, redactionOf(userId));
  await moveIdeas(server.database, redactionOf(userId), new Date());
  expect(await naming()).toEqual([]);
});

test('edits and a deletion of an idea during the erasure of its author leave no event with the name of the author', async () => {
  const userId = await createMember(server, world.accountId, 'member', 'Quinn Quokka');
  const ideaIds = await Promise.all(Array.from({ length: 6 }, () => insertIdea(server, world, { authorId: userId })));
  const asOwner = (work: Parameters<typeof runAsUser<unknown>>[3]) => runAsUser(server, world, world.ownerId, work);
  const [moved] = await Promise.allSettled([
    moveIdeas(server.database, redactionOf(userId), new Date()),
    ...ideaIds.map((id, n) => asOwner(op => editIdea(op, id, { title: `Edit ${n}` }))),
    ...ideaIds.map(id => asOwner(op => deleteIdea(op, id))),
  ]);
  expect(moved).toMatchObject({ status: 'fulfilled' });
  expect(await server.sql(`select 1 from events where concat(data, body) like '%Quinn Quokka%'`)).toEqual([]);
  const rows = await server.sql('select distinct author_id, moderation_state, body from ideas where id = any($1)', [
    ideaIds,
  ]);
  expect(rows).toEqual([{ author_id: placeholder.id, moderation_state: 'deleted', body: '(deleted)' }]);
});
