import { expect } from 'vitest';
import type { ErrorKey } from '../../contract/errors.ts';
import { connect } from '../helpers/database.ts';
import type { TestServer } from '../helpers/server.ts';
import type { Operation } from './cases.ts';

/** A failure that affects many operations: the SQL that causes this failure on both servers, and the expected error. */
export interface Fault {
  what: string;
  key: ErrorKey;
  breaks: string;
  mends: string;
  concerns(operation: Operation): boolean;
}

const isOfBoard = ({ metadata }: Operation) => metadata.auth === 'board';
/** Whether an operation reads only the token and its rate limits. */
const isOfToken = ({ metadata }: Operation) => metadata.auth === 'token';

/** SQL that creates a function. When a statement calls this function, PostgreSQL ends the statement's connection. */
const dying = `
  create function die() returns boolean language plpgsql as $$
  begin
    perform pg_terminate_backend(pg_backend_pid());
    return true;
  end $$;`;

/**
 * Hides four tables by renaming them. Every operation on a board reads at least one of these tables. The check of the
 * token, which comes first, reads none of them.
 */
const tables = ['ideas', 'statuses', 'event_positions', 'webhook_endpoints'];
const hidden = tables.map(name => `alter table ${name} rename to hidden_${name};`).join(' ');
const shown = tables.map(name => `alter table hidden_${name} rename to ${name};`).join(' ');

export const faults: Fault[] = [
  {
    what: 'tables are missing',
    key: 'internal_error',
    breaks: hidden,
    mends: shown,
    concerns: isOfBoard,
  },
  {
    what: 'the rate limit counters are missing',
    key: 'internal_error',
    breaks: 'alter table rate_limits rename to hidden_limits;',
    mends: 'alter table hidden_limits rename to rate_limits;',
    concerns: isOfToken,
  },
  {
    what: 'the database connection ends during the operation',
    key: 'service_unavailable',
    breaks: `${dying} ${hidden}
      create view ideas as select * from hidden_ideas where die();
      create view webhook_endpoints as select * from hidden_webhook_endpoints where die();
      create view statuses as select * from hidden_statuses where die();
      -- The table is empty, so its rows cannot call the function.
      create view event_positions as select hidden.* from die() as d left join hidden_event_positions hidden on d;`,
    mends: `${tables.map(name => `drop view ${name};`).join(' ')} ${shown} drop function die;`,
    concerns: isOfBoard,
  },
  {
    what: 'the database connection ends during authentication',
    key: 'service_unavailable',
    breaks: `${dying}
      create function die_first() returns trigger language plpgsql as $$ begin perform die(); return new; end $$;
      create trigger die before insert on rate_limits for each row execute function die_first();`,
    mends: 'drop trigger die on rate_limits; drop function die_first; drop function die;',
    concerns: () => true,
  },
  {
    what: 'an IP address has used up its rate limit',
    key: 'rate_limited',
    breaks: `update rate_limits set count = count + 2000000 where key like 'ip:%';`,
    mends: `update rate_limits set count = count - 2000000 where key like 'ip:%';`,
    concerns: () => true,
  },
];

/**
 * Repairs a fault over a separate connection. Then waits until the server's pool has noticed which of its connections
 * PostgreSQL has ended.
 */
export async function mend({ url, database }: TestServer, { mends }: Fault) {
  const outside = await connect(url);
  await outside.query(mends);
  const alive = `select from pg_stat_activity where datname = current_database() and application_name = 'idea-board'`;
  await expect.poll(async () => database.pool.totalCount - ((await outside.query(alive)).rowCount ?? 0)).toBe(0);
  await outside.end();
}
