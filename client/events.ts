import { abortError } from './attempt.ts';
import type { Call, NotModified } from './call.ts';
import type { Caller } from './caller.ts';
import { checkOptions } from './check-options.ts';
import { type EventBody, type EventList, eventTypes, type ListEventsQuery, type ListedEvent } from './contract.ts';
import { IdeaBoardError } from './errors.ts';
import type { CallOptions, ConditionalOptions } from './options.ts';
import { isTransient } from './retry.ts';
import type { WebhookEvent } from './verify-webhook.ts';

/** The type of an event of a board. */
export type EventType = Exclude<EventBody['type'], 'webhook.test'>;

/** The query parameters of a list of events. */
export interface EventsQuery extends Omit<ListEventsQuery, 'types'> {
  /** The types of the returned events. By default, these are all types except `idea.voted`. */
  types?: readonly EventType[] | undefined;
}

/** The options of `client.events.follow()`. */
export interface FollowOptions extends CallOptions {
  /**
   * The iteration returns the events after this cursor. Usually this is the last value that `onCursor` received. `now`
   * skips all earlier events. By default, the iteration starts with the first event of the last 30 days.
   */
  after?: string | undefined;
  /** The types of the returned events. By default, these are all types except `idea.voted`. */
  types?: readonly EventType[] | undefined;
  /**
   * The iteration calls this function with a new cursor after your loop has handled an event. While there are no
   * events, the iteration calls this function about once an hour. Save the cursor to continue from it later. The
   * iteration waits for the promise that this function returns.
   */
  onCursor?: ((cursor: string) => unknown) | undefined;
}

/** An event with its cursor. If your program checks `type`, TypeScript knows the fields of this type of event. */
export type FollowedEvent = WebhookEvent & {
  /** The cursor of the event. Pass this cursor as `after` to get the later events. */
  cursor: string;
};

/** The maximum page size that the server accepts. Larger pages need fewer requests. */
const pageSize = 100;
/**
 * The longest wait for events that the server accepts, in seconds. A wait also ends `marginSeconds` before the client's
 * timeout.
 */
const longestWaitSeconds = 55;
const marginSeconds = 5;
/**
 * The minimum time between two requests, unless the server already has more events. One request a second uses half of
 * the default rate limit for reads.
 */
const pauseMs = 1_000;
/**
 * The first and the longest delay after a call has failed with all its retries. The client then repeats the call. Each
 * delay is twice as long as the previous delay.
 */
const firstDelayMs = 1_000;
const longestDelayMs = 30_000;

/** Lists and follows the events of a board. */
export class Events {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Lists events, oldest first. Pass `next_cursor` of the result as `after` to get the next events. */
  list(query: EventsQuery | undefined, options: ConditionalOptions): Call<EventList | NotModified>;
  list(query?: EventsQuery, options?: CallOptions): Call<EventList>;
  list({ types, ...query }: EventsQuery = {}, options?: CallOptions) {
    return this.#caller.call('listEvents', { query: { ...query, types: types?.join(',') } }, options);
  }

  /**
   * Iterates over the events of a board, and waits for later events. The iteration continues after restarts of the
   * server, lost connections and rate limits. The iteration ends when your loop ends. The iteration throws an error if
   * the signal aborts, if the server refuses the token, or if the cursor has expired.
   *
   * ```ts
   * for await (const event of client.events.follow({ after: await load(), onCursor: save })) await handle(event);
   * ```
   */
  async *follow(options: FollowOptions = {}): AsyncGenerator<FollowedEvent, void, undefined> {
    const { after, types, onCursor, ...callOptions } = options;
    checkOptions({ types, onCursor }, ['types', 'onCursor']);
    const { now, sleep } = this.#caller.environment;
    const { signal } = callOptions;
    const { timeoutMs, totalTimeoutMs } = this.#caller.limitsOf(callOptions);
    const seconds = Math.floor(Math.min(timeoutMs, totalTimeoutMs) / 1000) - marginSeconds;
    const wait = Math.max(0, Math.min(longestWaitSeconds, seconds));
    let cursor = after;
    const moveTo = async (next: string) => {
      if (next !== cursor) await onCursor?.(next);
      cursor = next;
    };
    for (;;) {
      const requestedAt = now();
      const page = await this.#nextPage({ after: cursor, types, limit: pageSize, wait }, callOptions);
      for (const listed of page.data) {
        if (signal?.aborted) throw abortError(signal, { operation: 'listEvents', attempts: 0 });
        yield followed(listed);
        // This line runs after the caller's loop has handled the event, when the loop asks for the next event.
        await moveTo(listed.cursor);
      }
      await moveTo(page.next_cursor);
      if (!page.has_more) await sleep(Math.max(0, requestedAt + pauseMs - now()), signal);
    }
  }

  /**
   * Reads a page of events. Repeats a failed call until it succeeds, or until it fails with an error that a retry
   * cannot fix.
   */
  async #nextPage(query: EventsQuery, options: CallOptions): Promise<EventList> {
    const { random, sleep } = this.#caller.environment;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.list(query, options);
      } catch (error) {
        if (!(error instanceof IdeaBoardError) || !isTransient(error)) throw error;
        const backoffMs = Math.min(firstDelayMs * 2 ** failures, longestDelayMs) * (0.5 + random() / 2);
        await sleep(error.retryAfterMs ?? backoffMs, options.signal);
      }
    }
  }
}

function followed({ id, cursor, event }: ListedEvent): FollowedEvent {
  const isKnown = (eventTypes as readonly string[]).includes(event.type);
  if (isKnown) return { ...event, id, cursor };
  // Returns the type `unknown` for a type of event that this version of the package does not know. A newer server may
  // send such an event.
  return { type: 'unknown', id, cursor, body: event as { type: string } };
}
