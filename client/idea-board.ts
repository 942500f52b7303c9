import type { Call, NotModified } from './call.ts';
import { Caller } from './caller.ts';
import type { BoardDetails, Token } from './contract.ts';
import { Events } from './events.ts';
import { Ideas } from './ideas.ts';
import type { ApiRequest, CallOptions, ConditionalOptions, IdeaBoardOptions, WriteOptions } from './options.ts';
import { Webhooks } from './webhooks.ts';

/**
 * A client of the Agent API.
 *
 * ```ts
 * const client = new IdeaBoard({ baseUrl: 'https://ideas.example.com', token: process.env.IDEA_BOARD_TOKEN ?? '' });
 * for await (const idea of client.ideas.list({ sort: 'top' })) console.log(idea.score, idea.title);
 * ```
 */
export class IdeaBoard {
  readonly ideas: Ideas;
  /** Lists and follows the events of the board. */
  readonly events: Events;
  /** Manages the webhooks of the board. */
  readonly webhooks: Webhooks;
  /** Reads the board, with its statuses and its tags. */
  readonly board: BoardReader;
  /** Reads the properties of the token: its grants and the state of its rate limits. */
  readonly token: { get(options?: CallOptions): Call<Token> };
  readonly #caller: Caller;

  /** Creates a client without sending a request. Throws a TypeError if an option is invalid. */
  constructor(options: IdeaBoardOptions);
  /** @internal */
  constructor(options: IdeaBoardOptions, caller: Caller);
  constructor(options: IdeaBoardOptions, caller = new Caller(options)) {
    this.#caller = caller;
    this.ideas = new Ideas(caller);
    this.events = new Events(caller);
    this.webhooks = new Webhooks(caller);
    this.board = { get: (callOptions?: CallOptions) => caller.call('getBoard', {}, callOptions) };
    this.token = { get: callOptions => caller.call('getToken', {}, callOptions) };
  }

  /**
   * Returns a new client with the changed options. All other options keep their values. The new client shares the retry
   * budget with this client. The two clients also share the cache, unless `changes` contains the option `cache`.
   */
  withOptions(changes: Partial<IdeaBoardOptions>): IdeaBoard {
    const caller = this.#caller.withOptions(changes);
    return new IdeaBoard(caller.options, caller);
  }

  /**
   * Calls an operation by its method and path, even if this version of the package has no method for the operation.
   * Errors, retries, timeouts and the option `board` work as in other calls. But the client retries a PATCH request
   * only after status 429. The client does not check the type of the result.
   *
   * ```ts
   * const { hearts } = await client.request<{ hearts: number }>({ method: 'GET', path: '/api/v1/ideas/7/reactions' });
   * ```
   */
  request<T = unknown>(request: ApiRequest, options?: WriteOptions): Call<T> {
    return this.#caller.request<T>(request, options);
  }
}

/** Reads the board of the client. */
export interface BoardReader {
  get(options: ConditionalOptions): Call<BoardDetails | NotModified>;
  get(options?: CallOptions): Call<BoardDetails>;
}
