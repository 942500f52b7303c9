import type { EventBody, EventType } from '../../../contract/events.ts';
import type { Queryable } from '../../database/database.ts';
import { bigint, jsonb, nullable, sql, text, time, uuid } from '../../database/sql.ts';

/** Events that cause notifications but no webhook deliveries: an idea awaits approval, or an idea was rejected. */
interface InternalEvents {
  'idea.pending': Record<never, never>;
  'idea.rejected': { reason: string };
}

type RecordedType = EventType | keyof InternalEvents;

/**
 * The details that the caller gives for an event. The database adds the board, the idea, the target of a merge, and the
 * actor.
 */
type EventDetails<T extends RecordedType> = T extends EventType
  ? Partial<Omit<EventBody<T>['data'], 'board' | 'idea' | 'actor' | 'target'>> & { targetId?: number }
  : T extends keyof InternalEvents
    ? InternalEvents[T] & { targetId?: never }
    : never;

/** The operation that causes an event. The actor's userId is null for the operator of the server. */
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
 * Records an event of an idea in the transaction of the operation (specification: Events), and returns the id of the
 * event. The operation must hold the lock of the idea, so that the events of an idea are delivered in order.
 */
export async function recordEvent<T extends RecordedType>(
  op: EventSource,
  type: T,
  ideaId: number,
  given?: EventDetails<T>,
): Promise<string> {
  const { targetId, ...details } = { targetId: undefined, ...given };
  const { accountId, userId: actorId, tokenId } = op.actor;
  const [recorded] = await op.query(callRecordEvent, {
    accountId,
    type,
    ideaId,
    targetId: targetId ?? null,
    actorId,
    tokenId,
    details: JSON.stringify(details),
    now: op.now,
  });
  if (!recorded) throw new Error('record_event returned no row');
  return recorded.event_id;
}
