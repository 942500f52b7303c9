import type { Request } from 'autocannon';
import { envelope, modernHeaders } from '../../test/mcp/call-tool.ts';

export const connections = 16;

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

export type Draft = Omit<Request, 'headers'> & { headers?: Record<string, string> };

interface Scenario {
  title: string;
  /**
   * The requests to compare the scenario with: the same requests to the minimal server ("floor"), or another scenario
   * on the same server.
   */
  comparedWith?: 'floor' | 'list' | 'one' | 'vote';
  draft(targets: Targets): Draft;
}

const scenariosByName = {
  list: {
    title: 'list 20 newest',
    comparedWith: 'floor',
    draft: () => get('/api/v1/ideas'),
  },
  one: {
    title: 'get one',
    comparedWith: 'floor',
    draft: ({ ideaIds }) => get(`/api/v1/ideas/${anyOf(ideaIds)}`),
  },
  vote: {
    title: 'vote',
    comparedWith: 'floor',
    draft: ({ ideaIds }) =>
      post(`/api/v1/ideas/${anyOf(ideaIds)}/vote`, { value: anyOf(['up', 'up', 'up', 'down', 'none']) }),
  },
  search: {
    title: 'search a prefix, a quarter rare words',
    draft: ({ words }) => {
      const isRare = Math.random() < 0.25;
      const rare = words[Math.floor((words.length * (1 + Math.random())) / 2)];
      return get(`/api/v1/ideas?q=${isRare ? rare : byFrequency(words).slice(0, 3)}`);
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
    comparedWith: 'list',
    draft: () => call('list_ideas', {}),
  },
  'one-tool': {
    title: 'tool: get one',
    comparedWith: 'one',
    draft: ({ ideaIds }) => call('get_idea', { id: anyOf(ideaIds) }),
  },
  'vote-tool': {
    title: 'tool: vote',
    comparedWith: 'vote',
    draft: ({ ideaIds }) => call('vote_idea', { id: anyOf(ideaIds), value: anyOf(['up', 'up', 'up', 'down', 'none']) }),
  },
  // This scenario is the last one, because it adds ideas to the board.
  create: {
    title: 'create an idea',
    draft: ({ words }) => {
      const sentence = (length: number) => Array.from({ length }, () => byFrequency(words)).join(' ');
      return post('/api/v1/ideas', { title: sentence(6), body: sentence(60) });
    },
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenariosByName;

export const scenarios: Record<ScenarioName, Scenario> = scenariosByName;

export function makeRequests(name: ScenarioName, targets: Targets, count: number): Request[] {
  return Array.from({ length: count }, () => {
    const draft = scenarios[name].draft(targets);
    const headers: Record<string, string> = { ...draft.headers, authorization: `Bearer ${anyOf(targets.tokens)}` };
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

/**
 * Chooses a random word. The n-th most common word is chosen with a probability proportional to 1/n, as in the titles
 * of the test data.
 */
function byFrequency(words: readonly string[]): string {
  return words[Math.floor(words.length ** Math.random()) - 1] as string;
}
