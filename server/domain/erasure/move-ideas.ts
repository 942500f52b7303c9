import { sql } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { textInEvent } from '../events/recorded-event.ts';
import { type Redaction, redactEvents } from './redact-events.ts';

/** The maximum number of ideas that one transaction locks. It is small, so that few writers wait for the locks. */
const ideasAtOnce = 50;

/** These statements are not prepared, because their best plan depends on the limit and on the number of ideas. */
const options = { isPrepared: false };

const selectIdeas = query(
  'select_ideas_of_author',
  (db, $: Arguments<{ accountId: number; userId: number; limit: number }>) =>
    db
      .selectFrom('ideas')
      .select('id')
      .where(i => i.and({ account_id: $.accountId, author_id: $.userId }))
      .limit($.limit),
  options,
);

interface ShowingEvents {
  accountId: number;
  ideaIds: readonly number[];
  userId: string;
  after: string;
  batchSize: number;
}

/**
 * Selects the events that show the author of the given ideas: events of these ideas, and events of ideas that were
 * merged into these ideas.
 */
const selectShowing = query(
  'select_events_showing_author',
  (db, $: Arguments<ShowingEvents>) =>
    db
      .with(
        cte => cte('about').materialized(),
        cte =>
          cte
            .selectFrom('ideas')
            .select('id as idea_id')
            .where(i => i.and({ account_id: $.accountId, id: i.fn.any($.ideaIds) }))
            .union(
              cte
                .selectFrom('merges')
                .select('source_id as idea_id')
                .where(m => m.and({ account_id: $.accountId, target_id: m.fn.any($.ideaIds) })),
            ),
      )
      .selectFrom('about')
      .innerJoin('events as e', 'e.idea_id', 'about.idea_id')
      .select('e.id')
      .where('e.account_id', '=', $.accountId)
      .where('e.id', '>', $.after)
      .where(
        sql<boolean>`${$.userId}::text in (${textInEvent('idea', 'author', 'id')}, ${textInEvent('target', 'author', 'id')})`,
      )
      .orderBy('e.id')
      .limit($.batchSize),
  options,
);

const lockIdeas = query(
  'lock_ideas_of_author',
  (db, $: Arguments<{ accountId: number; ideaIds: readonly number[]; userId: number }>) =>
    db
      .selectFrom('ideas')
      .select('id')
      .where(i => i.and({ account_id: $.accountId, id: i.fn.any($.ideaIds), author_id: $.userId }))
      .orderBy('id')
      .forNoKeyUpdate(),
);

/**
 * Makes the placeholder user, who stands for all erased users, the author of ideas. Keeps `updated_at` if the idea was
 * updated after the start of the erasure run.
 */
const passAuthorship = query(
  'pass_authorship_of_ideas',
  (db, $: Arguments<{ accountId: number; ideaIds: readonly number[]; placeholderId: number; now: Date }>) =>
    db
      .updateTable('ideas')
      .set(i => ({ author_id: $.placeholderId, updated_at: i.fn<string>('greatest', ['updated_at', $.now]) }))
      .where(i => i.and({ account_id: $.accountId, id: i.fn.any($.ideaIds) })),
);

/**
 * Makes the placeholder user the author of an erased user's ideas in an account, and returns the number of ideas. The
 * function first removes the erased user from the ideas' events. If it changed the author first, a repeated run could
 * no longer find these events. Then the function locks the ideas, and waits for transactions that record further events
 * of these ideas. It changes these events, too. Events after the lock show the placeholder user.
 */
export async function moveIdeas(database: Database, redaction: Redaction, now: Date): Promise<number> {
  const { accountId, userId, placeholder, batchSize } = redaction;
  const limit = Math.min(ideasAtOnce, batchSize);
  let count = 0;
  for (;;) {
    const found = await database.query(selectIdeas, { accountId, userId, limit });
    if (found.length === 0) return count;
    const foundIds = found.map(({ id }) => id);
    await redactEventsOf(database, database, foundIds, redaction);
    count += await database.transaction(async ({ query }) => {
      const locked = await query(lockIdeas, { accountId, ideaIds: foundIds, userId });
      const ideaIds = locked.map(({ id }) => id);
      await redactEventsOf({ query }, database, ideaIds, redaction);
      await query(passAuthorship, { accountId, ideaIds, placeholderId: placeholder.id, now });
      return ideaIds.length;
    });
  }
}

/**
 * Finds the events that show the erased user, and replaces the user in them. `finder` finds the events, possibly in a
 * transaction that has locked the ideas. The events are changed on another connection, in transactions of their own.
 */
async function redactEventsOf(finder: Queryable, database: Database, ideaIds: readonly number[], redaction: Redaction) {
  const { accountId, batchSize } = redaction;
  const userId = String(redaction.userId);
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const found = await finder.query(selectShowing, { accountId, ideaIds, userId, after, batchSize });
    const last = found.at(-1);
    if (!last) return;
    const eventIds = found.map(({ id }) => id);
    await redactEvents(database, eventIds, redaction);
    after = last.id;
  }
}
