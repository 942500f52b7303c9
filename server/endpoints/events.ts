import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { excerptLength } from '../../contract/limits.ts';
import { defaultPerPage } from '../../contract/pagination.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import {
  type EventFilter,
  type EventPage,
  listEvents,
  presentEvents,
  readPlace,
} from '../domain/events/list-events.ts';
import { type EventWaits, waitRetrySeconds } from '../http/event-waits.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import { actorOf, admissionOf, readmit } from '../http/request-context.ts';
import type { Endpoints } from '../http/ts-rest.ts';

/** The shortest time between two reads of a waiting request. */
const readIntervalMs = 200;

export function eventEndpoints(
  { config }: Pick<ServerDependencies, 'config'>,
  runner: OperationRunner,
  waits: EventWaits,
): Pick<Endpoints, 'listEvents'> {
  const read = (request: FastifyRequest, filter: EventFilter) => runner.read(request, op => listEvents(op, filter));

  /** Reads the next events as soon as there are any, or an empty page when the wait ends. */
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
          // Events that the request does not want, such as many votes, must not cause one read each.
          await delay(Math.max(0, readAt + readIntervalMs - performance.now()));
          continue;
        }
        // The token may have lost its access during the wait. The check comes after the read, so that no event is
        // returned that was committed after the loss.
        await readmit(request);
        if (actorOf(request).isModerator === isModerator) return page;
      }
    });
  }

  return {
    listEvents: async ({ request, reply, query }) => {
      const { after, types, limit = defaultPerPage, wait = 0, body } = query;
      const filter = { after: readPlace(after, actorOf(request).boardId), types, limit };
      let page = await read(request, filter);
      if (wait > 0 && isEmpty(page)) {
        const end = endOfWait(request.raw.socket, wait);
        page = await readLater(request, filter, page, end.signal)
          .catch((error: unknown) => {
            if (error instanceof DomainError && error.key === 'too_many_waits') {
              reply.header('Retry-After', waitRetrySeconds);
            }
            throw error;
          })
          .finally(end.clear);
      }
      return {
        status: 200,
        body: presentEvents(page, { config, maxBodyLength: body === 'excerpt' ? excerptLength : undefined }),
      };
    },
  };
}

function isEmpty({ rows, hasMore }: EventPage): boolean {
  return rows.length === 0 && !hasMore;
}

/** Returns a signal that ends a wait: after the given time, or when the client disconnects. */
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
