import type { EventBody, EventType } from '../../../contract/events.ts';
import type { Queryable } from '../../database/database.ts';
import { bigint, jsonb, nullable, sql, text, time, uuid } from '../../database/sql.ts';

/** Events that are told to people alone, and are no webhook's: an idea awaits approval, or does not get it. */
interface InternalEvents {
  'idea.pending': Record<never, never>;
  'idea.rejected': { reason: string };
}

type RecordedType = EventType | keyof InternalEvents;

/** What an event says beyond the board, the idea and the actor, which the database adds as they are. */
type EventDetails<T extends RecordedType> = T extends EventType
  ? Partial<Omit<EventBody<T>['data'], 'board' | 'idea' | 'actor' | 'target'>> & { targetId?: number }
  : T extends keyof InternalEvents
    ? InternalEvents[T] & { targetId?: never }
    : never;

/** An operation that changes rows, or an administrative one with whoever caused it; nobody is the server's operator. */
interface EventSource extends Queryable {
  readonly actor: { readonly accountId: number; readonly userId: number | null; readonly tokenId: number | null };
  readonly now: Date;
}

const callRecordEvent = sql(
  'record_event',
  {
    arguments: {
      accountId: bigint(),
      type: text<RecordedType>(),
      ideaId: bigint(),
      targetId: nullable(bigint()),
      actorId: nullable(bigint()),
      tokenId: nullable(bigint()),
      details: jsonb(),
      now: time(),
    },
    row: { event_id: uuid() },
  },
  'select record_event($accountId, $type, $ideaId, $targetId, $actorId, $tokenId, $details, $now) as event_id',
);

/**
 * Records what an operation did to an idea (Events): it is told of when the operation commits, and only then.
 * The operation holds the idea's lock, so that what happens to one idea is told in its order.
 */
export async function recordEvent<T extends RecordedType>(
  op: EventSource,
  type: T,
  ideaId: number,
  given?: EventDetails<T>,
): Promise<void> {
  const { targetId, ...details } = { targetId: undefined, ...given };
  const { accountId, userId: actorId, tokenId } = op.actor;
  await op.query(callRecordEvent, {
    accountId,
    type,
    ideaId,
    targetId: targetId ?? null,
    actorId,
    tokenId,
    details: JSON.stringify(details),
    now: op.now,
  });
}
