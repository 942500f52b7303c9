import { type ApiFetcher, type ApiFetcherArgs, type InitClientReturn, initClient, tsRestFetchApi } from '@ts-rest/core';
import { operations } from '../contract/index.ts';

export { operations as contract };

export interface RawClientOptions {
  /** Where the server is, such as `https://ideas.example.com`. */
  baseUrl: string;
  /** An API token: `ib_<id>_<secret>`. */
  token: string;
  /** The slug of the board, for a token that grants more than one. A request's own `board` wins. */
  board?: string | undefined;
}

/**
 * The client of ts-rest, for those who want no more than the contract: a function for each operation, probes included,
 * that sends one request and answers what came, typed by its status. It does not retry, and throws nothing of its own.
 *
 * ```ts
 * const client = createClient({ baseUrl: 'http://localhost:3000', token: process.env.IDEA_BOARD_TOKEN ?? '' });
 * const answer = await client.createIdea({ body: { title: 'Dark mode', body: 'For late evenings.' } });
 * if (answer.status === 201) console.log(answer.body.id);
 * else console.error(answer.body.error.key);
 * ```
 */
export function createClient({ baseUrl, token, board }: RawClientOptions): RawClient {
  const api: ApiFetcher = args =>
    tsRestFetchApi({ ...args, path: board === undefined ? args.path : onBoard(args, board) });
  return initClient<typeof operations, ClientArgs>(operations, {
    baseUrl: baseUrl.replace(/\/+$/, ''),
    baseHeaders: { authorization: `Bearer ${token}` },
    api,
  });
}

interface ClientArgs {
  baseUrl: string;
  baseHeaders: { authorization: string };
  api: ApiFetcher;
}

export type RawClient = InitClientReturn<typeof operations, ClientArgs>;

/** The probes and the token itself are of no board, and take no parameter that they do not know. */
function onBoard({ path, route }: ApiFetcherArgs, board: string): string {
  const url = new URL(path);
  const { auth } = route.metadata as { auth?: string };
  if (auth === 'board' && !url.searchParams.has('board')) url.searchParams.set('board', board);
  return url.href;
}
