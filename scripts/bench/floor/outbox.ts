import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import pg from 'pg';
import { answerCalls, readUsage } from '../answer-calls.ts';

/**
 * This program is the bare loop of the webhook benchmark. The loop takes up to a hundred rows from a table, signs each
 * body and sends all bodies at once. The loop has no retries, no order and no record of deliveries.
 */
const concurrency = Number(process.env.WORKER_CONCURRENCY);
const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
await client.query('listen bench_outbox');
client.on('notification', () => wake?.());

const take = `delete from bench_outbox where id in (
    select id from bench_outbox order by id limit 100 for update skip locked
  ) returning url, event_id, body`;

let wake: (() => void) | undefined;
let isStopping = false;
let loop: Promise<void> | undefined;

async function deliverAll() {
  while (!isStopping) {
    const woken = new Promise<void>(resolve => {
      wake = resolve;
    });
    await client.query('begin');
    const { rows } = await client.query({ name: 'take', text: take });
    await Promise.all(rows.map(row => post(row.url, row.event_id, row.body)));
    await client.query('commit');
    if (rows.length === 0) await woken;
  }
}

function post(url: string, id: string, body: string): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', 'secret').update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, response => {
      response.resume();
      response.on('end', resolve);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

answerCalls<'start' | 'stop' | 'usage'>(async message => {
  if (message === 'usage') return readUsage();
  isStopping = message === 'stop';
  if (message === 'start') loop = deliverAll();
  wake?.();
  if (message === 'stop') await loop;
});
