import type pg from 'pg';
import { FailFastClient } from './client.ts';
import { type Query, runOn } from './query.ts';

/** A connection that receives the notifications of one channel, and can also run statements. It belongs to no pool. */
export interface Listener {
  query<Values, Row>(query: Query<Values, Row>, values: NoInfer<Values>): Promise<Row[]>;
  close(): Promise<void>;
}

export interface ListenerOptions {
  connection: pg.ClientConfig;
  channel: 'idea_board_events';
  onMessage(payload: string): void;
  /** Runs once if the connection breaks. Later notifications are lost, so the caller must open another listener. */
  onLost(error: Error | undefined): void;
}

/** Opens a listener. After the promise has resolved, the listener receives the notifications of all later commits. */
export async function openListener({ connection, channel, onMessage, onLost }: ListenerOptions): Promise<Listener> {
  const client = new FailFastClient(connection);
  let cause: Error | undefined;
  // Without a handler, an 'error' event would end the process. The event 'end' follows every 'error' event, and the
  // handler of 'end' calls onLost.
  client.on('error', error => {
    cause = error;
  });
  client.on('notification', ({ payload = '' }) => onMessage(payload));
  try {
    await client.connect();
    await client.query(`listen ${channel}`);
  } catch (error) {
    client.cut();
    throw error;
  }
  let isClosing = false;
  client.on('end', () => {
    if (!isClosing) onLost(cause);
  });
  return {
    query: (query, values) => runOn(client, query, values),
    async close() {
      isClosing = true;
      await client.close();
    },
  };
}
