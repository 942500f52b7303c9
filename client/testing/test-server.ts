import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Board, EventBody, OperationId } from '@idea-board/client';
import { type Capability, capabilities, events, type Grant, TestEvent } from '@idea-board/contract';
import { BoardState } from './board-state.ts';
import { Deliveries, type Delivery } from './deliveries.ts';
import { EventLog, newEventId } from './event-log.ts';
import { exampleOf } from './example.ts';
import { type FailOptions, type FailureKeyOf, Failures } from './failures.ts';
import { send } from './http.ts';
import { Refusal } from './refusal.ts';
import { answererOf } from './requests.ts';
import { Tokens } from './tokens.ts';
import { Webhooks } from './webhooks.ts';

export interface TestServerOptions {
  /** Settings of the board. By default, the board is open and publishes new ideas at once. */
  board?: Partial<Board> | undefined;
  /** The port on 127.0.0.1. The default is a free port. */
  port?: number | undefined;
}

/** A server of the Agent API for tests, with one board in memory. */
export interface TestServer {
  /** The URL of the server, for the option `baseUrl` of the client. */
  readonly baseUrl: string;
  /** An API token with the grant `moderate` and all capabilities. */
  readonly token: string;
  /** The board. Change its settings at any time: `server.board.is_frozen = true`. */
  readonly board: Board;
  /**
   * Issues a token. Each token has its own vote on each idea. Tokens with the same user name belong to one user. By
   * default, the token has no capability.
   */
  issueToken(grant: Grant, userName?: string, capabilities?: readonly Capability[]): string;
  /**
   * Makes the next request of an operation fail. If you plan several failures of one operation, they happen in the
   * order in which you planned them, one for each request.
   */
  fail<O extends OperationId>(operation: O, key: FailureKeyOf<O>, options?: FailOptions): void;
  /** Publishes a pending idea, as a moderator does on a web page. */
  approve(ideaId: number): void;
  /** Sends the events of the board to a URL from now on. Returns the secret that signs the webhooks. */
  sendWebhooksTo(url: string): string;
  /** Sends the example of an event from the contract to all webhook URLs. */
  sendExample(type: EventBody['type']): void;
  /**
   * Waits for the end of all delivery attempts that have been requested so far. Returns these attempts, oldest first.
   */
  deliveries(): Promise<readonly Delivery[]>;
  close(): Promise<void>;
}

/**
 * Starts a server of the Agent API on 127.0.0.1:
 *
 * ```ts
 * const server = await startTestServer();
 * const client = new IdeaBoard({ baseUrl: server.baseUrl, token: server.token });
 * server.fail('createIdea', 'board_frozen');
 * ```
 */
export async function startTestServer({ board = {}, port = 0 }: TestServerOptions = {}): Promise<TestServer> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const deliveries = new Deliveries();
  const webhooks = new Webhooks(deliveries);
  const failures = new Failures();
  const log = new EventLog();
  const state = new BoardState(board, baseUrl, event => {
    const id = newEventId();
    // Copies the event, because it contains the stored tags of the idea. Later requests change these tags.
    log.add({ id, event: structuredClone(event) });
    webhooks.send(structuredClone(event), id);
  });
  const tokens = new Tokens(state.board);
  const answer = answererOf({ state, events: log, webhooks, failures, tokens });

  server.on('request', async (request, response) => {
    const answered = await answer(request, response).catch((error: unknown) => {
      const { status, headers, body } = error instanceof Refusal ? error : new Refusal('internal_error');
      return { status, headers, body };
    });
    if (answered === 'connection_failed') request.socket.destroy();
    else if (answered === 'unexpected_answer')
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in');
    else if (answered !== 'timed_out') send(request, response, answered);
  });

  return {
    baseUrl,
    token: tokens.issue('moderate', undefined, capabilities),
    board: state.board,
    issueToken: (grant, userName, given) => tokens.issue(grant, userName, given),
    fail: (operation, key, options = {}) => failures.plan(operation, key, options),
    approve: ideaId => state.approve(ideaId, { id: 0, grant: 'moderate', capabilities: [], user: tokens.owner }),
    sendWebhooksTo: url => webhooks.add(new URL(url).href),
    sendExample(type) {
      const schema = type === 'webhook.test' ? TestEvent : events[type];
      webhooks.sendToAll(exampleOf(schema) as EventBody, newEventId());
    },
    deliveries: () => deliveries.finished(),
    async close() {
      const closed = once(server, 'close');
      server.close();
      // Closes all connections. A request with the planned failure `timed_out` never gets an answer, so its connection
      // is still open.
      server.closeAllConnections();
      await Promise.all([closed, deliveries.close()]);
    },
  };
}
