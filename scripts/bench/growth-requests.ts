import { type Draft, scenarios, type Targets } from './scenarios.ts';

export const groups = ['lists', 'searches', 'other reads', 'writes'] as const;

/** A request that the benchmark sends to each board. */
export interface MeasuredRequest {
  name: string;
  group: (typeof groups)[number];
  /** Returns undefined if the board is too small for the request. */
  draft(board: Board): Draft | undefined;
  /** Whether the request continues at the `next_cursor` of its previous response. */
  isWalk?: true;
  /** The name of another entry of the list with the same request. The difference between their times is noise. */
  repeats?: string;
}

export interface Board {
  /** The number of ideas when the benchmark starts. */
  ideas: number;
  targets: Targets;
  /** The titles of about 1,000 published ideas. */
  titles: string[];
  /** The cursors of the walks, by the name of the request. */
  cursors: Map<string, string>;
}

const perPage = 20;

export const requests: MeasuredRequest[] = [
  { name: 'page 1', group: 'lists', draft: () => list({}) },
  { name: 'page 2', group: 'lists', draft: () => list({ page: '2' }) },
  { name: 'middle page', group: 'lists', draft: ({ ideas }) => list({ page: middlePage(ideas) }) },
  {
    name: 'page 4,000',
    group: 'lists',
    draft: ({ targets }) => (targets.ideaIds.length > 4000 * perPage ? list({ page: '4000' }) : undefined),
  },
  {
    name: 'cursor, from the middle',
    group: 'lists',
    isWalk: true,
    draft: ({ ideas, cursors }) => {
      const cursor = cursors.get('cursor, from the middle');
      return list(cursor === undefined ? { page: middlePage(ideas) } : { cursor });
    },
  },
  { name: 'order top', group: 'lists', draft: () => list({ sort: 'top' }) },
  { name: 'order trending', group: 'lists', draft: () => list({ sort: 'trending' }) },
  { name: 'order updated', group: 'lists', draft: () => list({ sort: 'updated' }) },
  { name: 'order comments', group: 'lists', draft: () => list({ sort: 'comments' }) },
  { name: 'status planned', group: 'lists', draft: () => list({ status: 'planned' }) },
  { name: 'tag', group: 'lists', draft: () => list({ tag: anyOf(['1', '2', '3', '4', '5', '6', '7', '8']) }) },
  {
    name: 'tag, order top',
    group: 'lists',
    draft: () => list({ tag: anyOf(['1', '2', '3', '4', '5', '6', '7', '8']), sort: 'top' }),
  },
  { name: 'frequent word', group: 'searches', draft: ({ targets }) => list({ q: anyOf(targets.words.slice(0, 5)) }) },
  {
    name: 'two frequent words',
    group: 'searches',
    draft: ({ targets: { words } }) => list({ q: `${anyOf(words.slice(0, 5))} ${anyOf(words.slice(5, 10))}` }),
  },
  { name: 'rare word', group: 'searches', draft: ({ targets: { words } }) => list({ q: anyOf(words.slice(-5000)) }) },
  {
    name: 'one letter',
    group: 'searches',
    draft: ({ targets }) => list({ q: anyOf(targets.words.slice(0, 50)).slice(0, 1) }),
  },
  {
    name: 'one letter, order top',
    group: 'searches',
    draft: ({ targets }) => list({ q: anyOf(targets.words.slice(0, 50)).slice(0, 1), sort: 'top' }),
  },
  {
    name: 'one letter, page 40',
    group: 'searches',
    draft: ({ targets }) => list({ q: anyOf(targets.words.slice(0, 50)).slice(0, 1), page: '40' }),
  },
  {
    name: 'similar to a title',
    group: 'searches',
    draft: ({ titles }) => get('/api/v1/ideas/similar', { title: anyOf(titles).split(' ').reverse().join(' ') }),
  },
  {
    name: 'similar to a new idea',
    group: 'searches',
    draft: ({ targets }) => {
      const { title, body } = JSON.parse(String(scenarios.create.draft(targets).body));
      return get('/api/v1/ideas/similar', { title, body: body.slice(0, 1000) });
    },
  },
  { name: 'get one', group: 'other reads', draft: ({ targets }) => scenarios.one.draft(targets) },
  {
    name: 'get one, again',
    group: 'other reads',
    repeats: 'get one',
    draft: ({ targets }) => scenarios.one.draft(targets),
  },
  { name: 'comments', group: 'other reads', draft: ({ targets }) => get(`${anyIdea(targets)}/comments`) },
  { name: 'votes', group: 'other reads', draft: ({ targets }) => get(`${anyIdea(targets)}/votes`) },
  { name: 'board', group: 'other reads', draft: () => get('/api/v1/board') },
  { name: 'token', group: 'other reads', draft: () => get('/api/v1/token') },
  {
    name: 'events',
    group: 'other reads',
    isWalk: true,
    draft: ({ cursors }) => {
      const after = cursors.get('events');
      return get('/api/v1/events', after === undefined ? {} : { after });
    },
  },
  { name: 'web page of the board', group: 'other reads', draft: () => get('/b/bench') },
  {
    name: 'web page of an idea',
    group: 'other reads',
    draft: ({ targets }) => get(`/b/bench/ideas/${anyOf(targets.ideaIds)}`),
  },
  { name: 'vote', group: 'writes', draft: ({ targets }) => scenarios.vote.draft(targets) },
  { name: 'create', group: 'writes', draft: ({ targets }) => scenarios.create.draft(targets) },
  {
    name: 'comment',
    group: 'writes',
    draft: ({ targets }) => ({
      method: 'POST',
      path: `${anyIdea(targets)}/comments`,
      body: JSON.stringify({ body: 'We would use this every week.' }),
    }),
  },
];

function list(query: Record<string, string>): Draft {
  return get('/api/v1/ideas', query);
}

function get(path: string, query: Record<string, string> = {}): Draft {
  const text = new URLSearchParams(query).toString();
  return { method: 'GET', path: text === '' ? path : `${path}?${text}` };
}

function middlePage(ideas: number): string {
  return String(Math.ceil(ideas / 2 / perPage));
}

function anyIdea({ ideaIds }: Targets): string {
  return `/api/v1/ideas/${anyOf(ideaIds)}`;
}

export function anyOf<T>(choices: readonly T[]): T {
  return choices[Math.floor(Math.random() * choices.length)] as T;
}
