import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { MigrationName } from '../database/migration-files.ts';
import type { MigrationWatch } from '../database/migration-session.ts';
import { migrationSession } from '../database/migration-session.ts';
import { type Arguments, query, runOn } from '../database/query.ts';
import type { Catalogs } from './catalogs.ts';

/** The lock modes that keep requests waiting, with the statements that they block. */
const blockedBy: Readonly<Record<string, 'reads and writes' | 'writes'>> = {
  AccessExclusiveLock: 'reads and writes',
  ExclusiveLock: 'writes',
  ShareRowExclusiveLock: 'writes',
  ShareLock: 'writes',
};

interface TableLock {
  table: string;
  mode: string;
  blocks: 'reads and writes' | 'writes';
  /** How long the migration held the lock. The value can be wrong by about `pollMs`. */
  held_ms: number;
}

export interface MigrationReport extends MigrationName {
  ms: number;
  locks: TableLock[];
}

const pollMs = 10;

const selectLocks = query(
  'select_migration_locks',
  (db, $: Arguments<{ session: string; tables: readonly number[] }>) =>
    db
      .withTables<Catalogs>()
      .selectFrom('pg_locks as l')
      .innerJoin('pg_stat_activity as a', 'a.pid', 'l.pid')
      .select(['l.relation', 'l.mode'])
      .distinct()
      .where('a.application_name', '=', $.session)
      .where('l.locktype', '=', 'relation')
      .where('l.granted', '=', true)
      .where(l => l('l.relation', '=', l.fn.any($.tables)))
      .where('l.mode', 'in', Object.keys(blockedBy)),
);

/**
 * Measures the locks of each migration. A second session reads these locks every `pollMs`. A migration in a transaction
 * also reads its own locks just before its commit, when it holds all of them. `listTables` lists the tables that exist
 * before a migration, because requests do not wait for a new table.
 */
export function watchLocks(
  watcher: pg.ClientBase,
  listTables: () => Promise<{ oid: number; schema: string; name: string }[]>,
): { watch: MigrationWatch; reports: MigrationReport[] } {
  const reports: MigrationReport[] = [];
  let look: (client: pg.ClientBase) => Promise<void> = async () => {};

  return {
    reports,
    watch: {
      async around(migration, work) {
        const names = new Map((await listTables()).map(({ oid, schema, name }) => [oid, `${schema}.${name}`]));
        const heldMs = new Map<string, TableLock>();
        let isOver = false;
        let lookedAt = performance.now();
        const startedAt = lookedAt;
        look = async client => {
          const locks = await runOn(client, selectLocks, { session: migrationSession, tables: [...names.keys()] });
          const now = performance.now();
          for (const { relation, mode } of locks) {
            const key = `${relation} ${mode}`;
            const blocks = blockedBy[mode] ?? 'writes';
            const lock = heldMs.get(key) ?? { table: names.get(relation) ?? '', mode, blocks, held_ms: 0 };
            heldMs.set(key, { ...lock, held_ms: lock.held_ms + now - lookedAt });
          }
          lookedAt = now;
        };
        const polling = (async () => {
          while (!isOver) {
            await look(watcher);
            await delay(pollMs);
          }
        })();
        // Prevents an unhandled rejection. If a poll fails, the `await` after the migration throws the error.
        polling.catch(() => {});
        try {
          return await work();
        } finally {
          isOver = true;
          const ms = Math.round(performance.now() - startedAt);
          await polling;
          const locks = [...heldMs.values()].map(lock => ({ ...lock, held_ms: Math.ceil(lock.held_ms) }));
          reports.push({
            stream: migration.stream,
            name: migration.name,
            ms,
            locks: locks.sort((a, b) => b.held_ms - a.held_ms),
          });
        }
      },
      beforeCommit: client => look(client),
    },
  };
}
