import type { Queryable, QueryBuilding } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';

const recordAddress = query('record_server_address', (db, $: Arguments<{ address: string; now: Date }>) =>
  db
    .insertInto('heartbeats')
    .values({ name: 'server', recorded_at: $.now, address: $.address })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ recorded_at: $.now, address: $.address })),
);

/** Records the base URL of a server that has just started. Other processes print links with this URL. */
export async function recordServerAddress(db: Queryable, address: string, now: Date): Promise<void> {
  await db.query(recordAddress, { address, now });
}

/** Returns the base URL of the server that started last, or undefined if no server has used this database yet. */
export async function readServerAddress({ db }: QueryBuilding): Promise<string | undefined> {
  const server = await db.selectFrom('heartbeats').select('address').where('name', '=', 'server').executeTakeFirst();
  return server?.address ?? undefined;
}
