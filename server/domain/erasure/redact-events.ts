import { sql } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { redactPerson, type ShownPerson } from './placeholder.ts';

/*
 * The columns `data` and `body` of an event contain people's names. The server reads `body` only if an early version
 * recorded the event. The erasure rewrites events and does not remove them, so pending webhooks still arrive and
 * notifications still make sense. The server signs a webhook's body when it sends the webhook, so the signature matches
 * the rewritten body.
 */

/** The replacement of one erased user by the placeholder user, in the data of one account. */
export interface Redaction {
  accountId: number;
  userId: number;
  placeholder: ShownPerson;
  batchSize: number;
}

type Events = Arguments<{ accountId: number; eventIds: readonly string[] }>;

const selectPending = query('select_pending_deliveries_of_events', (db, $: Events) =>
  db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where(d => d.and({ account_id: $.accountId, event_id: d.fn.any($.eventIds) }))
    .where('state', '=', 'pending')
    .where('is_redacted', '=', false)
    .orderBy('id'),
);

/**
 * Marks one webhook delivery as redacted, so that no worker stores a response for it any more. The statement holds no
 * other lock while it waits, so it cannot deadlock with a worker that stores a response.
 */
const markDelivery = query('mark_delivery_redacted', (db, $: Arguments<{ accountId: number; id: number }>) =>
  db
    .updateTable('webhook_deliveries')
    .set({ is_redacted: true })
    .where(d => d.and({ account_id: $.accountId, id: $.id })),
);

const clearResponses = query('blank_responses_to_events', (db, $: Events) =>
  db
    .updateTable('webhook_attempts as a')
    .from('webhook_deliveries as d')
    .set({ response: null })
    .where(d => d.and({ 'd.account_id': $.accountId, 'd.event_id': d.fn.any($.eventIds) }))
    .where('a.account_id', '=', $.accountId)
    .whereRef('a.delivery_id', '=', 'd.id')
    .where('a.response', 'is not', null),
);

const lockEvents = query('lock_events_for_redaction', (db, $: Events) =>
  db
    .selectFrom('events')
    .select(e => ['id', e.cast<string | null>('data', 'text').as('data'), e.cast<string>('body', 'text').as('body')])
    .where(e => e.and({ account_id: $.accountId, id: e.fn.any($.eventIds) }))
    .orderBy('id')
    .forNoKeyUpdate(),
);

/** A user, and the user who replaces this user as the actor of events. */
interface ReplacedActor {
  userId: number | null;
  placeholderId: number | null;
}

interface RewrittenEvents extends ReplacedActor {
  accountId: number;
  ids: readonly string[];
  data: readonly (string | null)[];
  bodies: readonly string[];
}

const writeEvents = query('write_redacted_events', (db, $: Arguments<RewrittenEvents>) =>
  db
    .updateTable('events as e')
    .from(
      sql<{ id: string; data: string | null; body: string }>`unnest(
        ${$.ids}::uuid[], ${$.data}::text[], ${$.bodies}::text[]
      )`.as<'redacted'>(sql`redacted(id, data, body)`),
    )
    .set(e => ({
      data: e.cast('redacted.data', 'jsonb'),
      body: e.cast('redacted.body', 'json'),
      actor_id: sql<number>`case e.actor_id when ${$.userId} then ${$.placeholderId} else e.actor_id end`,
    }))
    .where('e.account_id', '=', $.accountId)
    .whereRef('e.id', '=', 'redacted.id'),
);

/**
 * Removes the stored responses of webhook receivers to the given events. Marks the deliveries first, so that no worker
 * stores a response afterwards.
 */
export async function withholdResponses(db: Queryable, accountId: number, eventIds: readonly string[]): Promise<void> {
  const pending = await db.query(selectPending, { accountId, eventIds });
  for (const { id } of pending) await db.query(markDelivery, { accountId, id });
  await db.query(clearResponses, { accountId, eventIds });
}

/** Replaces an erased user by the placeholder user in the given events. */
export async function redactEvents(
  database: Database,
  eventIds: readonly string[],
  { accountId, userId, placeholder }: Redaction,
): Promise<void> {
  const redact = (json: string) => redactPerson(json, userId, placeholder) ?? json;
  await rewriteEvents(database, {
    accountId,
    eventIds,
    rewrite: redact,
    actor: { userId, placeholderId: placeholder.id },
  });
}

interface Rewriting {
  accountId: number;
  eventIds: readonly string[];
  /** Returns the new text of the data or the body of an event. */
  rewrite(json: string): string;
  actor?: ReplacedActor;
}

/** Rewrites events, and clears the responses of webhook receivers, because a response may repeat the event. */
export async function rewriteEvents(
  database: Database,
  { accountId, eventIds, rewrite, actor = { userId: null, placeholderId: null } }: Rewriting,
): Promise<void> {
  if (eventIds.length === 0) return;
  await withholdResponses(database, accountId, eventIds);
  await database.transaction(async ({ query }) => {
    // Locks the events. Otherwise a parallel rewriting could overwrite the new texts with the old texts.
    const events = await query(lockEvents, { accountId, eventIds });
    await query(writeEvents, {
      accountId,
      ids: events.map(({ id }) => id),
      data: events.map(({ data }) => data && rewrite(data)),
      bodies: events.map(({ body }) => rewrite(body)),
      ...actor,
    });
  });
}

const selectActed = query(
  'select_events_of_actor',
  (db, $: Arguments<{ accountId: number; userId: number; batchSize: number }>) =>
    db
      .selectFrom('events')
      .select('id')
      .where(e => e.and({ account_id: $.accountId, actor_id: $.userId }))
      .limit($.batchSize),
  { isPrepared: false },
);

/**
 * Replaces an erased user by the placeholder user in all events of an account that the user caused. Returns the number
 * of events. A changed event has the placeholder user as its actor, so the next search does not find the event again.
 */
export async function redactActed(database: Database, redaction: Redaction): Promise<number> {
  const { accountId, userId, batchSize } = redaction;
  let count = 0;
  for (;;) {
    const events = await database.query(selectActed, { accountId, userId, batchSize });
    if (events.length === 0) return count;
    const ids = events.map(({ id }) => id);
    await redactEvents(database, ids, redaction);
    count += ids.length;
  }
}
