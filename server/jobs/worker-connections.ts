import pg from 'pg';
import { columnTypes, type Queryable } from '../database/database.ts';

/** The connections of a worker, which can be held back until something that they depend on is there. */
export class WorkerConnections extends pg.Pool {
  #gate: Promise<void> | undefined;

  /** Gives out no connection until the gate is open; fails where the gate fails. */
  waitFor(gate: Promise<void>) {
    this.#gate = gate;
    const open = () => {
      if (this.#gate === gate) this.#gate = undefined;
    };
    gate.then(open, open);
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg overloads connect in ways that no single signature can state.
  override connect(...args: any[]): any {
    if (!this.#gate) return super.connect(...(args as []));
    const connected = this.#gate.then(() => super.connect());
    const [callback] = args;
    if (!callback) return connected;
    connected.then(
      client => callback(undefined, client, client.release),
      error => callback(error, undefined, () => {}),
    );
  }
}

/** Our own statements on such connections, with rows as everywhere else. */
export function queryOn(pool: pg.Pool): Queryable {
  return {
    async query({ name, text }, values) {
      const config = { name, text, values: values as unknown[], types: columnTypes };
      const { rows } = await pool.query(config as pg.QueryConfig);
      return rows;
    },
  };
}
