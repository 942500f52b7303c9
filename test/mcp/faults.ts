import { expect } from 'vitest';
import type { ErrorKey } from '../../contract/errors.ts';
import { connect } from '../helpers/database.ts';
import type { TestServer } from '../helpers/server.ts';
import type { Operation } from './cases.ts';

/** What is made to go wrong for operations alike, by SQL at both servers, and with what they are refused then. */
export interface Fault {
  what: string;
  key: ErrorKey;
  breaks: string;
  mends: string;
  concerns(operation: Operation): boolean;
}

const isOfBoard = ({ metadata }: Operation) => metadata.auth === 'board';
/** It is asked for nothing but the token itself, and its limits. */
const isOfToken = ({ metadata }: Operation) => metadata.auth === 'token';

/** PostgreSQL ends the connection in the middle of what it was asked. */
const dying = `
  create function die() returns boolean language plpgsql as $$
  begin
    perform pg_terminate_backend(pg_backend_pid());
    return true;
  end $$;`;

/** Every operation of a board reads one of these two, and nothing of its admission does. */
const hidden = 'alter table ideas rename to hidden_ideas; alter table statuses rename to hidden_statuses;';
const shown = 'alter table hidden_ideas rename to ideas; alter table hidden_statuses rename to statuses;';

export const faults: Fault[] = [
  {
    what: 'tables that are not there',
    key: 'internal_error',
    breaks: hidden,
    mends: shown,
    concerns: isOfBoard,
  },
  {
    what: 'counters that are not there',
    key: 'internal_error',
    breaks: 'alter table rate_limits rename to hidden_limits;',
    mends: 'alter table hidden_limits rename to rate_limits;',
    concerns: isOfToken,
  },
  {
    what: 'a database that goes away while it is asked',
    key: 'service_unavailable',
    breaks: `${dying} ${hidden}
      create view ideas as select * from hidden_ideas where die();
      create view statuses as select * from hidden_statuses where die();`,
    mends: `drop view ideas; drop view statuses; ${shown} drop function die;`,
    concerns: isOfBoard,
  },
  {
    what: 'a database that goes away while it looks for the token',
    key: 'service_unavailable',
    breaks: `${dying}
      create function die_first() returns trigger language plpgsql as $$ begin perform die(); return new; end $$;
      create trigger die before insert on rate_limits for each row execute function die_first();`,
    mends: 'drop trigger die on rate_limits; drop function die_first; drop function die;',
    concerns: () => true,
  },
  {
    what: 'an address that asks too much',
    key: 'rate_limited',
    breaks: `update rate_limits set count = count + 2000000 where key like 'ip:%';`,
    mends: `update rate_limits set count = count - 2000000 where key like 'ip:%';`,
    concerns: () => true,
  },
];

/** Mends a fault by a connection that none has ended, and waits until the server's pool has noticed all that were. */
export async function mend({ url, database }: TestServer, { mends }: Fault) {
  const outside = await connect(url);
  await outside.query(mends);
  const alive = `select from pg_stat_activity where datname = current_database() and application_name = 'idea-board'`;
  await expect.poll(async () => database.pool.totalCount - ((await outside.query(alive)).rowCount ?? 0)).toBe(0);
  await outside.end();
}
