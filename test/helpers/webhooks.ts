import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import type { Administration } from '../../server/domain/administration.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { createWebhook, type NewWebhook } from '../../server/domain/webhooks/create-webhook.ts';
import { operatorIn } from './administration.ts';
import type { TestDatabase } from './database.ts';
import type { World } from './fixtures.ts';
import type { Received } from './receiver.ts';
import { testAppKey } from './server.ts';

export const testSecretBox = buildSecretBox(testAppKey);

/** Runs an administrative operation as the command line does. */
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

/** An endpoint of the world's account for every board and type, unless told otherwise. */
export async function addWebhook(
  db: Pick<TestDatabase, 'database'>,
  world: Pick<World, 'accountId'>,
  input: Partial<NewWebhook> & { url: string },
): Promise<TestWebhook> {
  const { endpoint, secret } = await administer(db, admin =>
    createWebhook(admin, testSecretBox, { accountId: world.accountId, boardId: null, ...input }),
  );
  return { id: endpoint.id, secret };
}

/** The body of a webhook as a receiver that trusts nobody reads it. */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it.
export function verify(received: Received, secret: string): any {
  return new Webhook(secret).verify(received.body, received.headers);
}

/** Everything that waits for a later time is due now. What is being tried is left alone: it would be sent once more. */
export async function fastForward({ sql }: Pick<TestDatabase, 'sql'>) {
  await sql(
    `update webhook_deliveries set next_attempt_at = now() where state = 'pending' and next_attempt_at > now()`,
  );
  await sql(`update graphile_worker._private_jobs set run_at = now() where locked_at is null and run_at > now()`);
  await sql(`select pg_notify('jobs:insert', '{"count":100}')`);
}

/** Deliveries in the order in which they were made. */
export function deliveriesOf({ sql }: Pick<TestDatabase, 'sql'>, endpointId: number) {
  return sql<{ id: number; state: string; attempt_count: number; next_attempt_at: string | null; event_id: string }>(
    'select id, state, attempt_count, next_attempt_at, event_id from webhook_deliveries where endpoint_id = $1 order by id',
    [endpointId],
  );
}

/** Waits until something holds. */
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
