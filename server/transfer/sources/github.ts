import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ForeignRecords, type Source, textOf } from './foreign-records.ts';
import { at, isDirectory, type Row, readObjects } from './tables.ts';

type Fields = Row['fields'];

/**
 * GitHub: issues and discussions, as JSON of the REST API, of the GraphQL API, or of `gh issue list --json`. Reads one
 * file, or the JSON files of a directory. The APIs do not tell who reacted, so the import adds votes of unknown voters.
 */
export const readGithub: Source = async function* (path, options) {
  const records = new ForeignRecords(options);
  const names = (await isDirectory(path)) ? (await readdir(path)).filter(name => name.endsWith('.json')).sort() : [''];
  const rows = (await Promise.all(names.map(name => readObjects(join(path, name))))).flat();
  const ideaOf = (number: unknown) => records.id('number', textOf(number));
  for (const { place, fields: issue } of rows) {
    // Skips objects without a title, and pull requests, which the REST API lists as issues.
    if (textOf(issue.title) === '' || issue.pull_request) continue;
    const idea = ideaOf(issue.number);
    const [votes, downVotes] = votesOf(issue);
    records.idea(place, {
      id: idea,
      board: records.onlyBoard(place),
      status: statusOf(issue),
      author: authorOf(records, place, issue),
      title: issue.title,
      body: issue.body,
      tags: listOf(issue.labels).map(label => ({ name: at(label, 'name') ?? label, color: at(label, 'color') })),
      createdAt: issue.created_at ?? issue.createdAt,
      updatedAt: issue.updated_at ?? issue.updatedAt,
      votes,
      downVotes,
    });
    for (const comment of listOf(issue.comments)) {
      addComment(records, place, idea, comment);
      for (const reply of listOf(at(comment, 'replies'))) addComment(records, place, idea, reply);
    }
    yield* records.take();
  }
  for (const { place, fields: comment } of rows) {
    // The REST API returns comments as separate objects, outside their issues. A comment contains the URL of its issue.
    const number = /\/issues\/(\d+)$/.exec(textOf(comment.issue_url))?.[1];
    if (number !== undefined) addComment(records, place, ideaOf(number), comment);
  }
  yield* records.take();
};

function addComment(records: ForeignRecords, place: string, idea: string, comment: Fields) {
  // Skips a minimized comment: a maintainer has hidden it.
  if (comment.isMinimized === true) return;
  records.comment(place, {
    id: records.id('comment', textOf(comment.node_id) || textOf(comment.id)),
    idea,
    author: authorOf(records, place, comment),
    body: comment.body,
    createdAt: comment.created_at ?? comment.createdAt,
  });
}

/** Returns the author of an issue or a comment, or null if GitHub has deleted the user. */
function authorOf(records: ForeignRecords, place: string, content: Fields): string | null {
  const user = content.user ?? content.author;
  const login = textOf(at(user, 'login'));
  return login === ''
    ? null
    : records.person(place, { id: login.toLowerCase(), name: textOf(at(user, 'name')) || login });
}

function statusOf(issue: Fields): string {
  const isClosed = textOf(issue.state).toLowerCase() === 'closed' || issue.closed === true;
  if (!isClosed) return 'open';
  const reason = textOf(issue.state_reason ?? issue.stateReason).toLowerCase();
  return ['not_planned', 'duplicate', 'outdated'].includes(reason) ? reason : 'completed';
}

/** Returns the number of thumbs up and upvotes, and the number of thumbs down. */
function votesOf(issue: Fields): [up: number, down: number] {
  const groups = listOf(issue.reactionGroups);
  const countOf = (content: string) => {
    const group = groups.find(one => one.content === content);
    return Number(at(group, 'users', 'totalCount') ?? at(group, 'reactors', 'totalCount') ?? 0);
  };
  const up = Number(at(issue.reactions, '+1') ?? 0) + countOf('THUMBS_UP') + Number(issue.upvoteCount ?? 0);
  return [up, Number(at(issue.reactions, '-1') ?? 0) + countOf('THUMBS_DOWN')];
}

/** Returns the objects of a list. The GraphQL API puts its lists into `nodes`. */
function listOf(value: unknown): Fields[] {
  const list = Array.isArray(value) ? value : at(value, 'nodes');
  return Array.isArray(list) ? list : [];
}
