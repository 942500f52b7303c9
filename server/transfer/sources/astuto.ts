import type { Placed } from '../import-batch.ts';
import { ForeignRecords, type Source, textOf } from './foreign-records.ts';
import { at, readTable } from './tables.ts';

/**
 * Astuto has no export. This importer reads a directory with its tables, either as CSV files from PostgreSQL or as JSON
 * files from its API. In the API's files, a row may contain whole objects, such as its user, instead of ids.
 */
export const readAstuto: Source = async function* (directory, options): AsyncIterable<Placed> {
  const records = new ForeignRecords(options);
  const people = new Map<string, string | null>();
  for (const { place, fields: user } of await readTable(directory, 'users')) {
    const id = textOf(user.id);
    // Skips users who have deleted their accounts. Astuto keeps their rows, but without personal data.
    if (statusOf(user.status) === 'deleted') continue;
    const role = roleOf(user.role);
    const isBlocked = statusOf(user.status) === 'blocked';
    people.set(id, records.person(place, { id, name: user.full_name, email: user.email, role, isBlocked }));
  }
  const personOf = (place: string, row: Readonly<Record<string, unknown>>) => {
    const user = row.user;
    if (!user) return people.get(textOf(row.user_id)) ?? null;
    return records.person(place, { id: at(user, 'id'), name: at(user, 'full_name'), email: at(user, 'email') });
  };
  const boards = new Map<string, string>();
  for (const { place, fields: board } of await readTable(directory, 'boards', { isRequired: true })) {
    const { slug, description, created_at: createdAt } = board;
    boards.set(textOf(board.id), records.board(place, board.name, { slug, description, createdAt }));
  }
  const statuses = new Map(
    (await readTable(directory, 'post_statuses')).map(({ fields: status }) => [textOf(status.id), status.name]),
  );
  yield* records.take();
  const ideaOf = (id: unknown) => records.id('post', textOf(id));
  for (const { place, fields: post } of await readTable(directory, 'posts', { isRequired: true })) {
    records.idea(place, {
      id: ideaOf(post.id),
      board: boards.get(textOf(post.board_id ?? at(post.board, 'id'))) ?? records.onlyBoard(place),
      status: at(post.post_status, 'name') ?? statuses.get(textOf(post.post_status_id)),
      author: personOf(place, post),
      title: post.title,
      body: post.description,
      moderationState: approvals[textOf(post.approval_status)] ?? 'published',
      createdAt: post.created_at,
      updatedAt: post.updated_at,
    });
  }
  yield* records.take();
  for (const { place, fields: comment } of await readTable(directory, 'comments')) {
    records.comment(place, {
      id: records.id('comment', comment.id),
      idea: ideaOf(comment.post_id),
      author: personOf(place, comment),
      body: comment.body,
      isOfficial: ['t', 'true'].includes(String(comment.is_post_update)),
      createdAt: comment.created_at,
    });
  }
  yield* records.take();
  for (const { place, fields: like } of await readTable(directory, 'likes')) {
    const person = personOf(place, like);
    if (person !== null) records.vote(place, ideaOf(like.post_id), person, like.created_at);
  }
  for (const { place, fields: follow } of await readTable(directory, 'follows')) {
    const person = personOf(place, follow);
    if (person !== null) records.follower(place, ideaOf(follow.post_id), person, follow.created_at);
  }
  yield* records.take();
};

/** The database of Astuto contains numbers, and its API contains words. */
const approvals: Readonly<Record<string, 'pending' | 'published' | 'rejected'>> = {
  0: 'published',
  1: 'pending',
  2: 'rejected',
  approved: 'published',
  pending: 'pending',
  rejected: 'rejected',
};

function statusOf(value: unknown): string {
  return { 1: 'blocked', 2: 'deleted' }[textOf(value)] ?? textOf(value);
}

function roleOf(value: unknown): 'owner' | 'admin' | 'moderator' | undefined {
  const name = { 1: 'moderator', 2: 'admin', 3: 'owner' }[textOf(value)] ?? textOf(value);
  return name === 'owner' || name === 'admin' || name === 'moderator' ? name : undefined;
}
