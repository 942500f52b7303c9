import { join } from 'node:path';
import { ForeignRecords, type Source, textOf } from './foreign-records.ts';
import { at, exists, isDirectory, type Row, readObjects } from './tables.ts';

/**
 * Canny. A directory with the responses of its API: `posts.json` from posts/list, `comments.json` from comments/list
 * and `votes.json` from votes/list. A file has one response or an array of responses. Without `votes.json`, each post
 * gets its number of votes from unknown voters. The path can also be one file with posts.
 */
export const readCanny: Source = async function* (path, options) {
  const records = new ForeignRecords(options);
  const fileOf = async (name: string): Promise<Row[] | undefined> => {
    const file = join(path, `${name}.json`);
    return (await exists(file)) ? readObjects(file) : undefined;
  };
  const isWhole = await isDirectory(path);
  const posts = isWhole ? ((await fileOf('posts')) ?? []) : await readObjects(path);
  const votes = isWhole ? await fileOf('votes') : undefined;
  const personOf = (place: string, user: unknown) => {
    const role = at(user, 'isAdmin') === true ? ('admin' as const) : undefined;
    return user
      ? records.person(place, { id: at(user, 'id'), name: at(user, 'name'), email: at(user, 'email'), role })
      : null;
  };
  for (const { place, fields: post } of posts) {
    records.idea(place, {
      id: records.id(post.id),
      board: records.board(place, at(post.board, 'name'), { createdAt: at(post.board, 'created') }),
      status: post.status,
      author: personOf(place, post.author),
      title: post.title,
      body: post.details,
      tags: (Array.isArray(post.tags) ? post.tags : []).map(tag => ({ name: at(tag, 'name') })),
      createdAt: post.created,
      updatedAt: post.statusChangedAt,
      votes: votes ? undefined : post.score,
    });
    yield* records.take();
  }
  for (const { place, fields: comment } of isWhole ? ((await fileOf('comments')) ?? []) : []) {
    // Skips the private comments of customers, because notes are texts of the team.
    const isByTeam = at(comment.author, 'isAdmin') === true;
    if (comment.private === true && !isByTeam) continue;
    // Skips status changes without a text. Canny lists them as comments without a value.
    if (textOf(comment.value) === '') continue;
    records.comment(place, {
      id: records.id(comment.id),
      idea: records.id(at(comment.post, 'id')),
      author: personOf(place, comment.author),
      body: comment.value,
      isInternal: comment.internal === true || comment.private === true,
      isOfficial: isByTeam,
      createdAt: comment.created,
    });
  }
  yield* records.take();
  for (const { place, fields: vote } of votes ?? []) {
    const person = personOf(place, vote.voter);
    if (person !== null) records.vote(place, records.id(at(vote.post, 'id')), person, vote.created);
    yield* records.take();
  }
};
