import type { Queryable } from '../database/database.ts';
import { statement } from '../database/statement.ts';

const recordAddress = statement<never>(
  'record_server_address',
  `insert into heartbeats (name, recorded_at, address) values ('server', $1, $2)
  on conflict (name) do update set recorded_at = excluded.recorded_at, address = excluded.address`,
);

/** Notes where people reach the server that has just started, for links that other processes print. */
export async function recordServerAddress(db: Queryable, address: string, now: Date): Promise<void> {
  await db.query(recordAddress, [now, address]);
}

const selectAddress = statement<{ address: string }>(
  'select_server_address',
  `select address from heartbeats where name = 'server' and address is not null`,
);

/** Where people reach the server that started last; undefined where none has started on this database. */
export async function readServerAddress(db: Queryable): Promise<string | undefined> {
  const [row] = await db.query(selectAddress, []);
  return row?.address;
}
