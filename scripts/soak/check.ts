import { isDeepStrictEqual } from 'node:util';
import type { EventType } from '../../contract/events.ts';
import { brokenInvariants } from '../../test/helpers/invariants.ts';
import type { Deployment } from './deployment.ts';
import { type Ledger, voteKey } from './ledger.ts';

/** The maximum age of the worker's last heartbeat. The worker's cron job records a heartbeat each minute. */
const oldestHeartbeatSeconds = 75;

/**
 * Compares the database with the acknowledged writes. Lists missing, wrong and unexpected rows, broken invariants,
 * undelivered webhooks, stuck jobs and an old heartbeat.
 */
export async function checkDatabase(
  { query: rows }: Deployment,
  ledger: Ledger,
  sharedIds: number[],
): Promise<string[]> {
  const ideas = await rows<{ id: string; title: string; status: string; merged_into: string | null; tags: string[] }>(
    `select i.id, i.title, s.key as status, i.merged_into_id as merged_into,
        array(
          select t.tag_id::text from idea_tags t
          where t.account_id = i.account_id and t.idea_id = i.id order by t.tag_id
        ) as tags
      from ideas i join statuses s on s.account_id = i.account_id and s.id = i.status_id order by i.id`,
  );
  const votes = await rows<{ token_id: string; idea_id: string; value: number }>(
    `select t.id as token_id, v.idea_id, v.value
      from votes v join api_tokens t on t.account_id = v.account_id and t.voter_id = v.voter_id
      where v.value <> 0`,
  );
  const comments = await rows<{ body: string }>('select body from comments');
  const events = await rows<{ type: EventType; count: number }>(
    'select type, count(*)::int as count from events group by type',
  );
  const broken = await brokenInvariants({ sql: rows });
  const undelivered = await rows<{ state: string; count: number }>(
    `select state, count(*)::int as count from webhook_deliveries where state <> 'delivered' group by state`,
  );
  const stuck = await rows<{ task: string; last_error: string | null }>(
    `select task_identifier as task, last_error from graphile_worker.jobs
      where locked_at is not null or attempts >= max_attempts`,
  );
  const [heartbeat] = await rows<{ seconds: number }>(
    "select extract(epoch from now() - recorded_at)::int as seconds from heartbeats where name = 'cron'",
  );
  const heartbeatSeconds = heartbeat?.seconds ?? Number.POSITIVE_INFINITY;
  return [
    ...(heartbeatSeconds > oldestHeartbeatSeconds ? [`The cron's last heartbeat is ${heartbeatSeconds} s old`] : []),
    ...difference(
      'idea',
      new Map(
        [...ledger.ideas.values()].map(({ id, title, status, mergedInto, tags }) => [
          String(id),
          [title, status, mergedInto, [...tags].sort((a, b) => a - b).map(String)],
        ]),
      ),
      new Map(
        ideas
          .filter(({ id }) => !sharedIds.includes(Number(id)))
          .map(({ id, title, status, merged_into, tags }) => [
            id,
            [title, status, merged_into === null ? null : Number(merged_into), tags],
          ]),
      ),
    ),
    ...difference(
      'vote',
      new Map([...ledger.votes].filter(([, value]) => value !== 'none')),
      new Map(votes.map(one => [voteKey(Number(one.token_id), Number(one.idea_id)), one.value === 1 ? 'up' : 'down'])),
    ),
    ...difference(
      'comment',
      new Map([...ledger.comments].map(body => [body, 1])),
      new Map([...Map.groupBy(comments, ({ body }) => body)].map(([body, same]) => [body, same.length])),
    ),
    ...difference(
      'number of events',
      new Map(Object.entries(ledger.events).filter(([, count]) => count > 0)),
      new Map(events.map(({ type, count }) => [type, count])),
    ),
    ...Object.entries(broken).map(([rule, [row]]) => `The rule "${rule}" is broken, first by ${JSON.stringify(row)}`),
    ...undelivered.map(({ state, count }) => `${count} deliveries are ${state}`),
    ...stuck.map(({ task, last_error }) => `A job ${task} is stuck: ${last_error}`),
  ];
}

/** Returns the webhook ids of all events in the database. */
export async function readWebhookIds({ query }: Deployment): Promise<Set<string>> {
  const events = await query<{ id: string }>('select id from events');
  return new Set(events.map(({ id }) => `evt_${id}`));
}

function difference(what: string, expected: Map<string, unknown>, found: Map<string, unknown>): string[] {
  const faults: string[] = [];
  for (const [key, value] of expected) {
    const actual = found.get(key);
    if (actual === undefined) faults.push(`The acknowledged ${what} ${key} is lost`);
    else if (!isDeepStrictEqual(actual, value)) {
      faults.push(`The ${what} ${key} is ${JSON.stringify(actual)} but was acknowledged as ${JSON.stringify(value)}`);
    }
  }
  for (const key of found.keys()) {
    if (!expected.has(key)) faults.push(`The ${what} ${key} exists but was not acknowledged`);
  }
  return faults;
}
