import type { Call } from './call.ts';
import { Caller } from './caller.ts';
import type { BoardDetails, Token } from './contract.ts';
import { Ideas } from './ideas.ts';
import type { CallOptions, IdeaBoardOptions } from './options.ts';

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
  /** Reads the board, with its statuses and its tags. */
  readonly board: { get(options?: CallOptions): Call<BoardDetails> };
  /** Reads the properties of the token: its grants and the state of its rate limits. */
  readonly token: { get(options?: CallOptions): Call<Token> };

  /** Creates a client without sending a request. Throws a TypeError if an option is invalid. */
  constructor(options: IdeaBoardOptions) {
    const caller = new Caller(options);
    this.ideas = new Ideas(caller);
    this.board = { get: callOptions => caller.call('getBoard', {}, callOptions) };
    this.token = { get: callOptions => caller.call('getToken', {}, callOptions) };
  }
}
