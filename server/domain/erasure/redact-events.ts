import type { Database, Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import { redactPerson, type ShownPerson } from './redact-person.ts';

/*
 * The bodies of events show people by name. They are rewritten, and not removed: webhooks that are on their way still
 * arrive, and what others were told still says what happened. What is signed is the body as it is when it is sent.
 */

const selectPending = plannedStatement<{ id: number }>(
  `select id from webhook_deliveries where event_id = any ($1) and state = 'pending' and not is_redacted`,
);

/** One by one: whoever waits here holds nothing for which the recorder of answers could wait. */
const markDelivery = plannedStatement<never>('update webhook_deliveries set is_redacted = true where id = $1');

const blankResponses = plannedStatement<never>(`
  update webhook_attempts a set response = null
  from webhook_deliveries d
  where d.event_id = any ($1) and a.delivery_id = d.id and a.response is not null`);

const lockEvents = plannedStatement<{ id: string; body: string }>(
  'select id, body::text as body from events where id = any ($1) order by id for no key update',
);

const writeBodies = plannedStatement<never>(`
  update events e set body = redacted.body::json
  from unnest($1::uuid[], $2::text[]) as redacted(id, body)
  where e.id = redacted.id`);

const passActing = plannedStatement<never>('update events set actor_id = $3 where id = any ($1) and actor_id = $2');

/**
 * Puts the placeholder in a user's place in some events, and forgets what receivers answered to them, which may repeat
 * the body. Deliveries come first: an answer that arrives from then on, to the body as it was, is not kept.
 */
export async function redactEvents(
  database: Database,
  eventIds: readonly string[],
  userId: number,
  placeholder: ShownPerson,
): Promise<void> {
  if (eventIds.length === 0) return;
  for (const { id } of await database.query(selectPending, [eventIds])) await database.query(markDelivery, [id]);
  await database.query(blankResponses, [eventIds]);
  await database.transaction(({ query }) => rewriteBodies({ query }, eventIds, userId, placeholder));
}

/** Under locks, so that of two runs for two users neither brings back what the other has taken out. */
async function rewriteBodies(
  transaction: Queryable,
  eventIds: readonly string[],
  userId: number,
  placeholder: ShownPerson,
) {
  const events = await transaction.query(lockEvents, [eventIds]);
  const redacted = events.flatMap(({ id, body }) => {
    const rewritten = redactPerson(body, userId, placeholder);
    return rewritten === undefined ? [] : [{ id, body: rewritten }];
  });
  await transaction.query(writeBodies, [redacted.map(({ id }) => id), redacted.map(({ body }) => body)]);
  await transaction.query(passActing, [eventIds, userId, placeholder.id]);
}

const selectActed = plannedStatement<{ id: string }>('select id from events where actor_id = $1 limit $2');

/** Redacts all that a user caused. What is redacted has another actor, so what is left is what is found. */
export async function redactActed(
  database: Database,
  userId: number,
  placeholder: ShownPerson,
  batchSize: number,
): Promise<number> {
  let count = 0;
  for (;;) {
    const ids = (await database.query(selectActed, [userId, batchSize])).map(({ id }) => id);
    if (ids.length === 0) return count;
    await redactEvents(database, ids, userId, placeholder);
    count += ids.length;
  }
}
