import { setTimeout as delay } from 'node:timers/promises';
import { hang, startReceiver } from '../../test/helpers/receiver.ts';
import type { SmtpReceiver } from '../../test/helpers/smtp-receiver.ts';
import type { Deployment } from './deployment.ts';

/**
 * The longest delays of a webhook and of a mail of one account, while the webhook endpoints of another account never
 * answer.
 */
export interface HangingFigures {
  webhookMs: number;
  mailMs: number;
}

const hangingEndpoints = 100;
const ideasOfFlood = 8;
const rounds = 5;
const longestWebhookMs = 2_000;
const longestMailMs = 5_000;
const patienceMs = 60_000;

/**
 * Gives one account a hundred webhook endpoints that never answer. Meanwhile measures the delays of another account's
 * webhook and mail. Deletes both accounts afterwards, because the test's ledger of expected data does not contain them.
 */
export async function measureHanging(deployment: Deployment, smtp: SmtpReceiver): Promise<HangingFigures> {
  const { query } = deployment;
  const [hanging, receiver] = await Promise.all([startReceiver(hang), startReceiver()]);
  try {
    const flood = await prepareAccount(deployment, 'flood', `${hanging.url}/`);
    const quiet = await prepareAccount(deployment, 'quiet', `${receiver.url}/`);
    await query(
      `insert into webhook_endpoints (account_id, url, secret)
      select w.account_id, w.url || n, w.secret
      from webhook_endpoints w join accounts a on a.id = w.account_id and a.slug = 'flood', generate_series(2, $1::int) n`,
      [hangingEndpoints],
    );
    for (let n = 0; n < ideasOfFlood; n++) await createIdea(deployment, flood, n);
    await until(() => hanging.received.length > 0, 'no hanging endpoint was tried');
    const figures: HangingFigures = { webhookMs: 0, mailMs: 0 };
    for (let round = 0; round < rounds; round++) {
      const seen = { webhooks: receiver.received.length, mails: smtp.received.length };
      await createIdea(deployment, quiet, round);
      const webhookMs = await until(
        () => receiver.received.length > seen.webhooks,
        'the webhook of another account did not arrive',
      );
      await query(
        `select graphile_worker.add_job('mail_password_link', json_build_object('user_id', id))
        from users where email = 'quiet@example.com'`,
      );
      const mailMs = await until(() => smtp.received.length > seen.mails, 'the mail did not arrive');
      figures.webhookMs = Math.max(figures.webhookMs, webhookMs);
      figures.mailMs = Math.max(figures.mailMs, mailMs);
      await delay(500);
    }
    return figures;
  } finally {
    await query(`delete from accounts where slug in ('flood', 'quiet')`);
    await Promise.all([hanging.close(), receiver.close()]);
  }
}

/** Returns a description of the fault if a webhook or a mail was late. */
export function faultOfHanging({ webhookMs, mailMs }: HangingFigures): string | undefined {
  const late = [
    webhookMs > longestWebhookMs ? `another account's webhook arrived after ${Math.round(webhookMs)} ms` : [],
    mailMs > longestMailMs ? `a mail arrived after ${Math.round(mailMs)} ms` : [],
  ].flat();
  return late.length > 0 ? `While ${hangingEndpoints} endpoints of one account hung, ${late.join(' and ')}` : undefined;
}

/** Creates an account with a webhook. Returns an API token of the account. */
async function prepareAccount({ cli }: Deployment, slug: string, url: string): Promise<string> {
  const email = `${slug}@example.com`;
  await cli('account', 'create', '--name', slug, '--slug', slug, '--owner-email', email, '--owner-name', slug);
  await cli('board', 'create', '--account', slug, '--slug', slug, '--name', slug);
  await cli('webhook', 'create', '--account', slug, '--url', url);
  const { token } = await cli<{ token: string }>(
    ...['token', 'create', '--account', slug, '--name', slug, '--issuer', email, '--grant', 'moderate'],
  );
  return token;
}

async function createIdea({ balancer }: Deployment, token: string, number: number) {
  const response = await fetch(`${balancer.url}/api/v1/ideas`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title: `While others hang ${number}`, body: 'It has a webhook.' }),
  });
  if (response.status !== 201) throw new Error(`An idea was answered with ${response.status}`);
}

/** Waits until the condition is true. Returns the waiting time. */
async function until(isTrue: () => boolean, otherwise: string): Promise<number> {
  const startedAt = performance.now();
  while (!isTrue()) {
    if (performance.now() - startedAt > patienceMs) throw new Error(`After ${patienceMs / 1000} s ${otherwise}`);
    await delay(5);
  }
  return performance.now() - startedAt;
}
