import { type ApiFetcher, type ApiFetcherArgs, type InitClientReturn, initClient, tsRestFetchApi } from '@ts-rest/core';
import { contract } from '../contract/index.ts';

export interface ClientOptions {
  /** Where the server is, such as `https://ideas.example.com`. */
  baseUrl: string;
  /** An API token: `ib_<id>_<secret>`. */
  token: string;
  /** The slug of the board, for a token that grants more than one. A request's own `board` wins. */
  board?: string;
}

/**
 * A client with a function for each operation of the contract, typed by it: what it takes, and what each status
 * answers.
 *
 * ```ts
 * const client = createClient({ baseUrl: 'http://localhost:3000', token: process.env.IDEA_BOARD_TOKEN });
 * const answer = await client.createIdea({ body: { title: 'Dark mode', body: 'For late evenings.' } });
 * if (answer.status === 201) console.log(answer.body.id);
 * else console.error(answer.body.error.key);
 * ```
 */
export function createClient({ baseUrl, token, board }: ClientOptions): Client {
  const api: ApiFetcher = args =>
    tsRestFetchApi({ ...args, path: board === undefined ? args.path : onBoard(args, board) });
  return initClient<typeof contract, ClientArgs>(contract, {
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

export type Client = InitClientReturn<typeof contract, ClientArgs>;

/** The probes and the token itself are of no board, and take no parameter that they do not know. */
function onBoard({ path, route }: ApiFetcherArgs, board: string): string {
  const url = new URL(path);
  const { auth } = route.metadata as { auth?: string };
  if (auth === 'board' && !url.searchParams.has('board')) url.searchParams.set('board', board);
  return url.href;
}
