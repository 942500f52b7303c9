import type { Request } from 'autocannon';
import { envelope, modernHeaders } from '../../test/mcp/call-tool.ts';

export const defaultConnections = 16;

/** The lists of possible values. Each request of a scenario uses random values from these lists. */
export interface Targets {
  tokens: string[];
  /** The ids of published ideas. */
  ideaIds: number[];
  /** The words in the titles of ideas, the most common first. */
  words: string[];
  /** Cursors of pages deep in the list, for the scenario `cursor`. */
  cursors: string[];
}

export type Draft = Omit<Request, 'headers'> & {
  headers?: Record<string, string>;
  /** The token of the request. By default, each request has a random token. */
  token?: string | undefined;
};

interface Scenario {
  title: string;
  /** Whether the minimal server ("floor") answers the same requests. */
  hasFloor?: true;
  /** Another scenario, whose rounds alternate with the rounds of this scenario on the same server. */
  beside?: 'list' | 'one' | 'vote';
  draft(targets: Targets): Draft;
}

const scenariosByName = {
  list: {
    title: 'list 20 newest',
    hasFloor: true,
    draft: () => get('/api/v1/ideas'),
  },
  one: {
    title: 'get one',
    hasFloor: true,
    draft: ({ ideaIds }) => get(`/api/v1/ideas/${anyOf(ideaIds)}`),
  },
  vote: {
    title: 'vote',
    hasFloor: true,
    draft: ({ ideaIds }) =>
      post(`/api/v1/ideas/${anyOf(ideaIds)}/vote`, { value: anyOf(['up', 'up', 'up', 'down', 'none']) }),
  },
  search: {
    title: 'search a prefix, a quarter rare words',
    hasFloor: true,
    draft: ({ words }) => {
      const isRare = Math.random() < 0.25;
      const rare = words[Math.floor((words.length * (1 + Math.random())) / 2)];
      return get(`/api/v1/ideas?q=${isRare ? rare : byFrequency(words).slice(0, 3)}`);
    },
  },
  similar: {
    title: 'similar ideas',
    hasFloor: true,
    draft: ({ words }) => {
      const { title, body } = newIdea(words);
      return get(`/api/v1/ideas/similar?${new URLSearchParams({ title, body: body.slice(0, 1000) })}`);
    },
  },
  status: {
    title: 'set a status',
    hasFloor: true,
    draft: ({ ideaIds }) =>
      post(`/api/v1/ideas/${anyOf(ideaIds)}/status`, { status: anyOf(['open', 'planned', 'in_progress', 'done']) }),
  },
  tag: {
    title: 'add a tag',
    hasFloor: true,
    draft: ({ ideaIds }) => post(`/api/v1/ideas/${anyOf(ideaIds)}/tags`, { tag_id: 1 + Math.floor(Math.random() * 8) }),
  },
  comment: {
    title: 'comment',
    hasFloor: true,
    beside: 'one',
    draft: targets => {
      const { ideaId, token } = nextPair(targets);
      return { ...post(`/api/v1/ideas/${ideaId}/comments`, { body: 'We would use this every week.' }), token };
    },
  },
  top: {
    title: 'list 20 top',
    draft: () => get('/api/v1/ideas?sort=top'),
  },
  cursor: {
    title: 'list 20 from a deep cursor',
    draft: ({ cursors }) => get(`/api/v1/ideas?cursor=${anyOf(cursors)}`),
  },
  'list-tool': {
    title: 'tool: list 20 newest',
    beside: 'list',
    draft: () => call('list_ideas', {}),
  },
  'one-tool': {
    title: 'tool: get one',
    beside: 'one',
    draft: ({ ideaIds }) => call('get_idea', { id: anyOf(ideaIds) }),
  },
  'vote-tool': {
    title: 'tool: vote',
    beside: 'vote',
    draft: ({ ideaIds }) => call('vote_idea', { id: anyOf(ideaIds), value: anyOf(['up', 'up', 'up', 'down', 'none']) }),
  },
  create: {
    title: 'create an idea',
    hasFloor: true,
    beside: 'one',
    draft: ({ words }) => post('/api/v1/ideas', newIdea(words)),
  },
  // This scenario is the last one, because nobody can vote on a merged idea.
  merge: {
    title: 'merge and unmerge',
    hasFloor: true,
    draft: ({ ideaIds }) => {
      const { sourceId, targetId, isMerge } = nextMerge(ideaIds);
      return isMerge
        ? post(`/api/v1/ideas/${sourceId}/merge`, { target_id: targetId })
        : post(`/api/v1/ideas/${sourceId}/unmerge`, {});
    },
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenariosByName;

export const scenarios: Record<ScenarioName, Scenario> = scenariosByName;

/** Returns the scenarios with the given names in the order of the benchmark. Without names, returns all scenarios. */
export function chosenScenarios(names: readonly string[]): ScenarioName[] {
  const all = Object.keys(scenarios) as ScenarioName[];
  return names.length === 0 ? all : all.filter(name => names.includes(name));
}

export function makeRequests(name: ScenarioName, targets: Targets, count: number): Request[] {
  return Array.from({ length: count }, () => {
    const { token = anyOf(targets.tokens), ...draft } = scenarios[name].draft(targets);
    const headers: Record<string, string> = { ...draft.headers, authorization: `Bearer ${token}` };
    if (draft.body !== undefined) headers['content-type'] = 'application/json';
    return { ...draft, headers };
  });
}

function get(path: string): Draft {
  return { method: 'GET', path };
}

function post(path: string, json: unknown): Draft {
  return { method: 'POST', path, body: JSON.stringify(json) };
}

/** Builds a tool call in the newest version of the MCP protocol, which is stateless. */
function call(name: string, given: Record<string, unknown>): Draft {
  const params = { name, arguments: given, _meta: envelope };
  const headers = { accept: 'application/json, text/event-stream', ...modernHeaders('tools/call', name) };
  return { ...post('/api/v1/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }), headers };
}

function anyOf<T>(choices: readonly T[]): T {
  return choices[Math.floor(Math.random() * choices.length)] as T;
}

let pairs = 0;

/** Returns each pair of an idea and a token only once, because nobody may comment twice in a row. */
function nextPair({ ideaIds, tokens }: Targets) {
  const round = Math.floor(pairs / ideaIds.length);
  const index = pairs % ideaIds.length;
  pairs++;
  return { ideaId: ideaIds[index], token: tokens[(index + round) % tokens.length] };
}

let merge: { sourceId: number | undefined; targetId: number | undefined } | undefined;

/**
 * Returns a random merge and then the request that undoes it. A source has only one possible target, so a request never finds a source
 * that is merged into another idea.
 */
function nextMerge(ideaIds: readonly number[]) {
  if (merge) {
    const undone = { ...merge, isMerge: false };
    merge = undefined;
    return undone;
  }
  const index = 2 * Math.floor((Math.random() * (ideaIds.length - 1)) / 2);
  merge = { sourceId: ideaIds[index], targetId: ideaIds[index + 1] };
  return { ...merge, isMerge: true };
}

function newIdea(words: readonly string[]): { title: string; body: string } {
  const sentence = (length: number) => Array.from({ length }, () => byFrequency(words)).join(' ');
  return { title: sentence(6), body: sentence(60) };
}

/**
 * Chooses a random word. The n-th most common word is chosen with a probability proportional to 1/n, as in the titles
 * of the test data.
 */
function byFrequency(words: readonly string[]): string {
  return words[Math.floor(words.length ** Math.random()) - 1] as string;
}
