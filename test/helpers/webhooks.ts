import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { eventTypes } from '../../contract/events.ts';
import type { Administration } from '../../server/domain/administration.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { createWebhook, type NewWebhook } from '../../server/domain/webhooks/edit-webhook.ts';
import { operatorIn } from './administration.ts';
import type { TestDatabase } from './database.ts';
import type { World } from './fixtures.ts';
import type { Received } from './receiver.ts';
import { testAppKey } from './server.ts';

export const testSecretBox = buildSecretBox(testAppKey);

/** Runs an administrative operation as the operator of the server. */
export function administer<T>(
  { database }: Pick<TestDatabase, 'database'>,
  work: (admin: Administration) => Promise<T>,
): Promise<T> {
  return database.transaction(transaction => work(operatorIn(transaction)));
}

export interface TestWebhook {
  id: number;
  secret: string;
}

/**
 * Creates a webhook endpoint in the test account (`world`). By default, it gets the events of all types, including
 * votes, from all boards.
 */
export async function addWebhook(
  db: Pick<TestDatabase, 'database'>,
  world: Pick<World, 'accountId'>,
  input: Partial<NewWebhook> & { url: string },
): Promise<TestWebhook> {
  const { endpoint, secret } = await administer(db, admin =>
    createWebhook(admin, testSecretBox, { accountId: world.accountId, boardId: null, eventTypes, ...input }),
  );
  return { id: endpoint.id, secret };
}

/** Verifies the signature of a webhook request. Returns the parsed body. */
// biome-ignore lint/suspicious/noExplicitAny: tests access arbitrary fields of the body.
export function verify(received: Received, secret: string): any {
  return new Webhook(secret).verify(received.body, received.headers);
}

/**
 * Makes all waiting deliveries and jobs due immediately. Leaves out jobs that are running, because such a job would run
 * twice.
 */
export async function fastForward({ sql }: Pick<TestDatabase, 'sql'>) {
  await sql(
    `update webhook_deliveries set next_attempt_at = now() where state = 'pending' and next_attempt_at > now()`,
  );
  await sql(`update graphile_worker._private_jobs set run_at = now() where locked_at is null and run_at > now()`);
  await sql(`select pg_notify('jobs:insert', '{"count":100}')`);
}

/** Returns the deliveries of an endpoint, oldest first. */
export function deliveriesOf({ sql }: Pick<TestDatabase, 'sql'>, endpointId: number) {
  return sql<{ id: number; state: string; attempt_count: number; next_attempt_at: string | null; event_id: string }>(
    'select id, state, attempt_count, next_attempt_at, event_id from webhook_deliveries where endpoint_id = $1 order by id',
    [endpointId],
  );
}

/** Repeats the check until it passes. Fails if the check has not passed within the timeout. */
export async function eventually(check: () => Promise<void> | void, timeoutMs = 30_000) {
  await expect
    .poll(
      async () => {
        try {
          await check();
          return 'holds';
        } catch (error) {
          return (error as Error).message;
        }
      },
      { timeout: timeoutMs, interval: 25 },
    )
    .toBe('holds');
}
