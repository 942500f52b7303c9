import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

/** Runs for a job that names no account, so it has no filter on the account. */
const selectAccount = query('select_account_of_event', (db, $: Arguments<{ eventId: string }>) =>
  db.selectFrom('events as e').select('e.account_id').where('e.id', '=', $.eventId),
);

/** Finds the account of an event for a job of the version before. Undefined when the event is gone. */
export async function findAccountOfEvent(queryable: Queryable, eventId: string): Promise<number | undefined> {
  const [event] = await queryable.query(selectAccount, { eventId });
  return event?.account_id;
}
