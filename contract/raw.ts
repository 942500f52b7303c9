import { type ApiFetcher, type ApiFetcherArgs, type InitClientReturn, initClient, tsRestFetchApi } from '@ts-rest/core';
import { operations } from './index.ts';

export { operations as contract };

export interface RawClientOptions {
  /** The URL of the server, such as `https://ideas.example.com`. */
  baseUrl: string;
  /** An API token of the form `ib_<id>_<secret>`. */
  token: string;
  /** The slug of the board, for a token with several boards. The `board` parameter of a request overrides this slug. */
  board?: string | undefined;
}

/**
 * A thin ts-rest client: one function for each operation, including the probes. Each function sends one request and
 * returns the response, typed by its status. A function never retries a request, and does not throw for an error
 * response.
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

/**
 * Adds the `board` parameter to a URL. URLs of the probes and of the token endpoint stay unchanged, because these
 * endpoints reject unknown parameters.
 */
function onBoard({ path, route }: ApiFetcherArgs, board: string): string {
  const url = new URL(path);
  const { auth } = route.metadata as { auth?: string };
  if (auth === 'board' && !url.searchParams.has('board')) url.searchParams.set('board', board);
  return url.href;
}
