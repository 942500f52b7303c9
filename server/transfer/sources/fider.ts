import type { Placed } from '../import-batch.ts';
import { ForeignRecords, type Source, textOf } from './foreign-records.ts';
import { isDirectory, type Row, readCsv, readTable } from './tables.ts';

/**
 * Fider. It has two exports: a backup as a ZIP file with a JSON file for each table, and a CSV file with the posts. The
 * CSV file has only the numbers of votes and comments.
 */
export const readFider: Source = async function* (path, options) {
  const records = new ForeignRecords(options);
  yield* (await isDirectory(path)) ? readBackup(path, records) : readPosts(path, records);
};

/** The statuses of posts, by the numbers in the database of Fider. */
const statuses = ['open', 'started', 'completed', 'declined', 'planned', 'duplicate', 'deleted'];
const roles = { 2: 'moderator', 3: 'admin' } as const;
const blocked = '3';

async function* readBackup(directory: string, records: ForeignRecords): AsyncIterable<Placed> {
  const people = new Map<string, string | null>();
  for (const { place, fields: user } of await readTable(directory, 'users', { isRequired: true })) {
    const role = roles[textOf(user.role) as unknown as keyof typeof roles];
    const isBlocked = textOf(user.status) === blocked;
    people.set(
      textOf(user.id),
      records.person(place, { id: user.id, name: user.name, email: user.email, role, isBlocked }),
    );
  }
  const personOf = (id: unknown) => people.get(textOf(id)) ?? null;
  yield* records.take();

  const tags = new Map((await readTable(directory, 'tags')).map(({ fields: tag }) => [textOf(tag.id), tag]));
  const tagsOfPost = Map.groupBy(await readTable(directory, 'post_tags'), ({ fields }) => textOf(fields.post_id));
  const ideaOf = (id: unknown) => records.id('post', textOf(id));
  const merged: Row[] = [];
  for (const row of await readTable(directory, 'posts', { isRequired: true })) {
    const { place, fields: post } = row;
    const status = statuses[Number(post.status)] ?? 'open';
    if (status === 'deleted') continue;
    const idea = ideaOf(post.id);
    records.idea(place, {
      id: idea,
      board: records.onlyBoard(place),
      status,
      author: personOf(post.user_id),
      title: post.title,
      body: post.description,
      tags: (tagsOfPost.get(textOf(post.id)) ?? []).flatMap(({ fields }) => {
        const tag = tags.get(textOf(fields.tag_id));
        return tag ? [{ name: tag.name, color: tag.color }] : [];
      }),
      moderationState: post.is_approved === false ? 'pending' : 'published',
      createdAt: post.created_at,
    });
    if (textOf(post.response) !== '') {
      records.comment(place, {
        id: records.id('response', post.id),
        idea,
        author: personOf(post.response_user_id),
        body: post.response,
        isOfficial: true,
        createdAt: post.response_date ?? post.created_at,
      });
    }
    if (status === 'duplicate' && post.original_id) merged.push(row);
  }

  for (const { place, fields: comment } of await readTable(directory, 'comments')) {
    if (comment.deleted_at || comment.is_approved === false) continue;
    records.comment(place, {
      id: records.id('comment', comment.id),
      idea: ideaOf(comment.post_id),
      author: personOf(comment.user_id),
      body: comment.content,
      createdAt: comment.created_at,
      editedAt: comment.edited_at,
    });
  }
  yield* records.take();
  for (const { place, fields: vote } of await readTable(directory, 'post_votes')) {
    const person = personOf(vote.user_id);
    if (person !== null) records.vote(place, ideaOf(vote.post_id), person, vote.created_at);
  }
  yield* records.take();
  for (const { place, fields: post } of merged) {
    records.merge(place, ideaOf(post.id), ideaOf(post.original_id), post.response_date ?? post.created_at);
  }
  for (const { place, fields: subscriber } of await readTable(directory, 'post_subscribers')) {
    const person = personOf(subscriber.user_id);
    if (person === null || textOf(subscriber.status) !== '1') continue;
    records.follower(place, ideaOf(subscriber.post_id), person, subscriber.created_at);
  }
  yield* records.take();
}

async function* readPosts(path: string, records: ForeignRecords): AsyncIterable<Placed> {
  const merges: Row[] = [];
  const ideaOf = (number: unknown) => records.id('number', textOf(number));
  for await (const row of readCsv(path, records)) {
    const { place, fields: post } = row;
    const idea = ideaOf(post.number);
    records.idea(place, {
      id: idea,
      board: records.onlyBoard(place),
      status: post.status,
      author: records.person(place, { name: post.created_by }),
      title: post.title,
      body: post.description,
      tags: textOf(post.tags)
        .split(', ')
        .map(name => ({ name })),
      createdAt: post.created_at,
      votes: post.votes_count,
    });
    if (textOf(post.response) !== '') {
      records.comment(place, {
        id: records.id('response-number', post.number),
        idea,
        author: records.person(place, { name: post.responded_by }),
        body: post.response,
        isOfficial: true,
        createdAt: post.responded_at,
      });
    }
    if (textOf(post.original_number) !== '') merges.push(row);
    yield* records.take();
  }
  for (const { place, fields: post } of merges) {
    records.merge(place, ideaOf(post.number), ideaOf(post.original_number), post.responded_at || post.created_at);
  }
  yield* records.take();
}
