import type { Database, Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import { redactEvents } from './redact-events.ts';
import type { ShownPerson } from './redact-person.ts';

/** Few, since all of them are locked together. */
const ideasAtOnce = 50;

const selectIdeas = plannedStatement<{ id: number }>('select id from ideas where author_id = $1 limit $2');

/**
 * The events that show the author of some ideas: their own, and merges into them. Events of other ideas do not, and so
 * the ideas lead to every one of them.
 */
const selectShowing = plannedStatement<{ id: string }>(`
  with about as materialized (
    select unnest($1::bigint[]) as idea_id
    union
    select m.source_id from merges m where m.target_id = any ($1)
  )
  select e.id
  from about join events e using (idea_id)
  where e.id > $3
    and $2::text in (e.body #>> '{data,idea,author,id}', e.body #>> '{data,target,author,id}')
  order by e.id
  limit $4`);

const lockIdeas = plannedStatement<{ id: number }>(
  'select id from ideas where id = any ($1) and author_id = $2 order by id for no key update',
);

/** Somebody may have changed the idea since the run began. */
const passAuthorship = plannedStatement<never>(
  'update ideas set author_id = $2, updated_at = greatest(updated_at, $3) where id = any ($1)',
);

interface MoveOptions {
  userId: number;
  placeholder: ShownPerson;
  now: Date;
  batchSize: number;
}

/**
 * Attributes a user's ideas to the placeholder, and answers how many there were. The events about an idea are redacted
 * before it is passed on: who wrote it is what leads to them, also after a kill. Then the idea is locked, and with it
 * whoever is recording an event about it; what they recorded is redacted too; whoever comes later finds the placeholder.
 */
export async function moveIdeas(database: Database, options: MoveOptions): Promise<number> {
  const { userId, placeholder, now, batchSize } = options;
  let count = 0;
  for (;;) {
    const found = await database.query(selectIdeas, [userId, Math.min(ideasAtOnce, batchSize)]);
    if (found.length === 0) return count;
    const ids = found.map(({ id }) => id);
    await redactEventsOf(database, database, ids, options);
    count += await database.transaction(async ({ query }) => {
      const locked = (await query(lockIdeas, [ids, userId])).map(({ id }) => id);
      await redactEventsOf({ query }, database, locked, options);
      await query(passAuthorship, [locked, placeholder.id, now]);
      return locked.length;
    });
  }
}

const beforeAll = '00000000-0000-0000-0000-000000000000';

/** Finds the events on one connection, which may hold the ideas locked, and redacts them on another. */
async function redactEventsOf(
  finder: Queryable,
  database: Database,
  ideaIds: readonly number[],
  { userId, placeholder, batchSize }: MoveOptions,
) {
  let after = beforeAll;
  for (;;) {
    const found = await finder.query(selectShowing, [ideaIds, String(userId), after, batchSize]);
    const last = found.at(-1);
    if (!last) return;
    await redactEvents(
      database,
      found.map(({ id }) => id),
      userId,
      placeholder,
    );
    after = last.id;
  }
}
