import type { StatusCategory } from '../../../contract/status.ts';
import type { Placed } from '../import-batch.ts';
import { digest, ForeignRecords, type Source, textOf } from './foreign-records.ts';
import { isDirectory, type Row, readCsv, readTable } from './tables.ts';

/**
 * Quackback. The export of a workspace is a ZIP file with a CSV file for each table. The export of a board is one CSV
 * file with the posts, without ids and with only the numbers of votes.
 */
export const readQuackback: Source = async function* (path, options) {
  const records = new ForeignRecords(options);
  if (!(await isDirectory(path))) {
    for await (const row of readCsv(path, records)) {
      const post = plain(row);
      const { title, created_at, vote_count } = post.fields;
      addPost(records, post, records.id('post', digest(`${textOf(title)} ${textOf(created_at)}`)), vote_count);
      yield* records.take();
    }
    yield* records.take();
    return;
  }
  yield* readWorkspace(path, records);
};

async function* readWorkspace(directory: string, records: ForeignRecords): AsyncIterable<Placed> {
  const table = async (name: string, isRequired = false) =>
    (await readTable(directory, name, { isRequired })).map(plain);
  for (const { place, fields: user } of await table('users')) {
    records.person(place, { name: user.name, email: user.email });
  }
  for (const { place, fields: board } of await table('boards')) {
    records.board(place, board.name, { slug: board.slug, description: board.description, createdAt: board.created_at });
  }
  const categories = new Map(
    (await table('statuses')).map(({ fields: status }) => [textOf(status.name), categoryIn(textOf(status.category))]),
  );
  const colors = new Map((await table('tags')).map(({ fields: tag }) => [textOf(tag.name), tag.color]));
  yield* records.take();
  const hasVotes = (await table('post_votes')).length > 0;
  for (const row of await table('posts', true)) {
    const { id, status, vote_count } = row.fields;
    const votes = hasVotes ? undefined : vote_count;
    addPost(records, row, records.id(id), votes, categories.get(textOf(status)), colors);
  }
  yield* records.take();
  for (const { place, fields: comment } of await table('post_comments')) {
    if (comment.moderation_state !== 'published') continue;
    const edited = comment.updated_at !== comment.created_at ? comment.updated_at : undefined;
    records.comment(place, {
      id: records.id(comment.id),
      idea: records.id(comment.post_id),
      author: records.person(place, { name: comment.author_name, email: comment.author_email }),
      body: comment.content,
      isInternal: comment.is_private === 'true',
      isOfficial: comment.is_team_member === 'true',
      createdAt: comment.created_at,
      editedAt: edited,
    });
  }
  yield* records.take();
  for (const { place, fields: vote } of await table('post_votes')) {
    const person = records.person(place, { email: vote.voter_email });
    if (person !== null) records.vote(place, records.id(vote.post_id), person, vote.created_at);
    else records.anonymousVote(place, records.id(vote.post_id), records.id('anonymous', vote.id), vote.created_at);
  }
  yield* records.take();
}

function addPost(
  records: ForeignRecords,
  { place, fields: post }: Row,
  id: string,
  votes: unknown,
  category?: StatusCategory,
  colors: ReadonlyMap<string, unknown> = new Map(),
) {
  records.idea(place, {
    id,
    board: records.board(place, post.board),
    status: post.status,
    category,
    author: records.person(place, { name: post.author_name, email: post.author_email }),
    title: post.title,
    body: post.content,
    tags: textOf(post.tags)
      .split(',')
      .map(name => ({ name, color: colors.get(name.trim()) })),
    createdAt: post.created_at,
    votes,
  });
}

/** Returns our category for a category of Quackback. For the category `active`, the name of the status decides. */
function categoryIn(category: string): StatusCategory | undefined {
  if (category === 'complete') return 'completed';
  return category === 'closed' ? 'declined' : undefined;
}

/** Removes the quote that Quackback writes before a text that a spreadsheet would take for a formula. */
function plain({ place, fields }: Row): Row {
  const entries = Object.entries(fields).map(([name, value]) => [name, textOf(value).replace(/^'(?=[=+\-@\t\r])/, '')]);
  return { place, fields: Object.fromEntries(entries) };
}
