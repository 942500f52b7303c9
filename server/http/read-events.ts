import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../domain/domain-error.ts';
import { type EventFilter, type EventPage, listEvents } from '../domain/events/list-events.ts';
import type { EventWaits } from './event-waits.ts';
import type { OperationRunner } from './operation-runner.ts';
import type { HeaderSetter } from './rate-limit.ts';
import { actorOf, admissionOf, readmit } from './request-context.ts';

/** The shortest time between two reads of the events for the same waiting request. */
const readIntervalMs = 200;

/** The value of Retry-After in seconds, for a token with too many waiting requests. */
const waitRetrySeconds = 5;

/**
 * Builds the function that reads the next events. If there are no events, the function waits for an event, but not
 * longer than waitSeconds.
 */
export function buildEventReader(runner: OperationRunner, waits: EventWaits) {
  const read = (request: FastifyRequest, filter: EventFilter) => runner.read(request, op => listEvents(op, filter));

  /** Waits for the next events, and reads them. Returns an empty page when the wait ends without events. */
  function readLater(request: FastifyRequest, filter: EventFilter, { next }: EventPage, signal: AbortSignal) {
    const { accountId, boardId } = actorOf(request);
    const { tokenId } = admissionOf(request).principal;
    const options = { accountId, boardId, tokenId, position: next.position, signal };
    return waits.hold(options, async wait => {
      let after = next;
      for (;;) {
        const event = wait.nextEvent();
        const { isModerator } = actorOf(request);
        const readAt = performance.now();
        const page = await read(request, { ...filter, after });
        if (isEmpty(page) && !wait.isOver) {
          after = page.next;
          wait.position = after.position;
          await event;
          // Waits a little before the next read. Otherwise each event that the request does not want, such as a vote,
          // would cause a read.
          await delay(Math.max(0, readAt + readIntervalMs - performance.now()));
          continue;
        }
        // Checks the token again, because the token may have lost its access during the wait. The check comes after the
        // read. So the answer contains no event that occurred after the token had lost its access.
        await readmit(request);
        if (actorOf(request).isModerator === isModerator) return page;
      }
    });
  }

  return async (request: FastifyRequest, reply: HeaderSetter, filter: EventFilter, waitSeconds: number) => {
    // A client asks for the current cursor before it reads all ideas. If it read these ideas from the replica, it would
    // miss an idea that is older than the cursor, but not yet in the replica.
    if (filter.after === 'now') await runner.keepOnPrimary(request);
    const page = await read(request, filter);
    // With after=now, the client skips the earlier events and needs the cursor immediately.
    if (waitSeconds === 0 || filter.after === 'now' || !isEmpty(page)) return page;
    const end = endOfWait(request.raw.socket, waitSeconds);
    try {
      return await readLater(request, filter, page, end.signal);
    } catch (error) {
      if (error instanceof DomainError && error.key === 'too_many_waits') reply.header('Retry-After', waitRetrySeconds);
      throw error;
    } finally {
      end.clear();
    }
  };
}

function isEmpty({ rows, hasMore }: EventPage): boolean {
  return rows.length === 0 && !hasMore;
}

/** Returns a signal that ends a wait after the given time, or earlier if the client disconnects. */
function endOfWait(socket: Socket, seconds: number) {
  const end = new AbortController();
  const abort = () => end.abort();
  const timer = setTimeout(abort, seconds * 1000);
  socket.once('close', abort);
  if (socket.destroyed) abort();
  return {
    signal: end.signal,
    clear() {
      clearTimeout(timer);
      socket.off('close', abort);
    },
  };
}
