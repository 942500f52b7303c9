import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createChannel } from '../../server/domain/chat/channels.ts';
import { buildUnsubscribeTokens } from '../../server/domain/notifications/unsubscribe-token.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { createWebhook } from '../../server/domain/webhooks/edit-webhook.ts';
import { maskAddresses } from '../../server/observability/mask-addresses.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { describeFailure } from '../../server/start-failure.ts';
import { operatorIn } from '../helpers/administration.ts';
import { readAudit } from '../helpers/audit.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { startProcess } from '../helpers/server-process.ts';
import { eventually } from '../helpers/webhooks.ts';

/*
 * These tests send unique secrets and email addresses to all inputs of a server, and then search the server's output
 * for them.
 */

const db = await createTestDatabase();
const world = await createWorld(db);
const directory = await mkdtemp(join(tmpdir(), 'idea-board-secrets-'));
afterAll(async () => {
  await db.drop();
  await rm(directory, { recursive: true, force: true });
});

/** The secrets and email addresses that no output may contain. Each key describes its value. */
const markers = new Map<string, string>();

/**
 * Adds a secret to the markers and returns the secret. The default secret is unique, and contains a character that URLs
 * encode.
 */
function secret(what: string, text = `${randomBytes(12).toString('hex')}X+z`): string {
  markers.set(what, text);
  return text;
}

const address = (what: string) => secret(what, `m${randomBytes(8).toString('hex')}@marked.example.com`);
/** Returns a unique text that looks like an API token. */
const tokenLike = (what: string) => `ib_7_${secret(what, randomBytes(32).toString('base64url'))}`;

/** Returns the possible forms of a marker in the output: unchanged, in lower case, and encoded. */
function formsOf(marker: string): string[] {
  const bytes = Buffer.from(marker);
  const forms = [
    marker,
    marker.toLowerCase(),
    encodeURIComponent(marker),
    encodeURIComponent(encodeURIComponent(marker)),
  ];
  // Leaves out both ends of the base64 text, because they depend on the bytes before and after the marker.
  for (const offset of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    forms.push(whole.slice(Math.ceil((offset * 4) / 3) + 1, -4));
  }
  return [...forms, bytes.toString('hex')];
}

function expectNoMarker(output: string) {
  const lowerCased = output.toLowerCase();
  const found = [...markers].filter(([, marker]) =>
    formsOf(marker).some(form => lowerCased.includes(form.toLowerCase())),
  );
  expect(found.map(([what]) => what)).toEqual([]);
}

const withPassword = (url: string, password: string) => {
  const marked = new URL(url);
  marked.password = password;
  return marked.href;
};

test('the output and the audit log of a server contain no secret or email address from requests, settings, database rows or errors', async () => {
  const appKey = randomBytes(32);
  secret('the application key', appKey.toString('base64'));
  secret('the password of the database', decodeURIComponent(new URL(db.url).password));
  const auditFile = join(directory, 'audit.log');
  const rejecting = join(directory, 'reject.mjs');
  await writeFile(
    rejecting,
    `process.on('SIGUSR2', () => Promise.reject(Object.assign(new Error(process.env.REJECTION), { detail: process.env.REJECTION, headers: { authorization: process.env.REJECTION } })));`,
  );
  const server = await startProcess(
    'start',
    {
      DATABASE_URL: db.url,
      SMTP_URL: `smtp://${encodeURIComponent(address('the user of SMTP'))}:${encodeURIComponent(secret('the password of SMTP'))}@127.0.0.1:1`,
      APP_KEY: appKey.toString('base64'),
      AUDIT_LOG: auditFile,
      LOG_LEVEL: 'trace',
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      RATE_LIMIT_IP: '1000000',
      RATE_LIMIT_WRITE: '1000',
      REJECTION: `${address('an address in a rejection')} Bearer ${secret('a token in a rejection')} postgres://u:${secret('a password in a rejection')}@h/d`,
    },
    ['--import', rejecting],
  );
  onTestFinished(() => server.kill());

  // These secrets of a token, a webhook and a chat channel are stored in the database, and the server uses them.
  const { token } = await issueToken(db, world, 'moderate');
  secret('the token', token.replace(/^ib_\d+_/, ''));
  const receiver = await startReceiverForTest(410);
  const secretBox = buildSecretBox(appKey);
  const inUrl = randomBytes(13).toString('hex');
  await db.database.transaction(async transaction => {
    const admin = operatorIn(transaction);
    const url = `${receiver.url}/${secret('the path of a webhook')}?key=${secret('the query of a webhook')}`;
    const webhook = await createWebhook(admin, secretBox, { accountId: world.accountId, boardId: null, url });
    secret('the secret of a webhook', webhook.secret.replace('whsec_', ''));
    const chat = `${receiver.url}/hooks/${secret('the URL of a chat', inUrl)}`;
    await createChannel(admin, secretBox, {
      accountId: world.accountId,
      boardId: world.boardId,
      kind: 'mattermost',
      url: chat,
    });
  });
  const follower = address('the address of a follower');
  await db.sql('update users set notification_email = $2, email = $2 where id = $1', [world.ownerId, follower]);

  await sendEverything(server, token, appKey);

  // These jobs fail: the mail server, the webhook or the chat channel is missing, or the payload is invalid.
  const notAnId = address('an address in the payload of a job');
  for (const task of ['deliver_webhooks', 'tell_people', 'mail_people', 'mail_notifications', 'post_to_chat']) {
    await db.sql(`select graphile_worker.add_job($1, $2::json)`, [
      task,
      JSON.stringify([
        notAnId,
        { endpoint_id: notAnId, event_id: notAnId, channel_id: notAnId, token: secret(`a token for ${task}`) },
      ]),
    ]);
  }
  const audit = async () => readAudit((await readFile(auditFile, 'utf8')).split(/(?<=\n)/));
  await eventually(async () => {
    const events = (await audit()).map(({ event }) => event);
    expect(events).toEqual(
      expect.arrayContaining(['webhook.disabled', 'chat_channel.disabled', 'authentication.failed']),
    );
    expect(server.output().split('a job failed').length).toBeGreaterThan(4);
  }, 20_000);
  // Drops tables, so that SQL statements with values from requests fail. Some of these statements come from the ORM.
  await db.sql('drop table followers cascade');
  await db.sql('drop table idea_tags cascade');
  const title = secret('a title in a failing statement');
  const failing = { title, body: address('an address in a failing statement') };
  const failed = await rawRequest(server, 'POST', '/api/v1/ideas', { token, ...json(failing) });
  const alsoFailed = await rawRequest(server, 'GET', `/api/v1/ideas?q=${encodeURIComponent(secret('a search'))}`, {
    token,
  });
  expect([failed.status, alsoFailed.status]).toEqual([500, 500]);

  server.signal('SIGUSR2');
  expect(await server.ended).toBe(1);
  const output = server.output();
  expect(output).toContain('an uncaught error ends the process');
  expect(output.split('a request failed').length).toBeGreaterThanOrEqual(3);
  // The server masks the email addresses in the paths.
  const { hash } = buildRedactor({ appKey });
  expect(output).toContain(maskAddresses(markers.get('an address in a path') ?? '', hash));
  expect(output).toContain('ib_7_[Redacted]');
  expectNoMarker(output);
  expectNoMarker(await readFile(auditFile, 'utf8'));
}, 60_000);

const json = (value: unknown) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) });

/** Sends valid and invalid requests with secrets and email addresses in every part. */
async function sendEverything(server: { baseUrl: string }, token: string, appKey: Buffer) {
  const names = [
    'authorization',
    'cookie',
    'set-cookie',
    'proxy-authorization',
    'x-api-key',
    'x-forwarded-for',
    'forwarded',
    'user-agent',
    'referer',
    'from',
    'accept',
    'content-type',
    'if-none-match',
    'idempotency-key',
    'x-unknown',
    'origin',
    'host',
  ];
  for (const name of names) {
    for (const value of [
      secret(`the header ${name}`),
      address(`an address in ${name}`),
      `Bearer ${secret(`a bearer in ${name}`)}`,
    ]) {
      await rawRequest(server, 'GET', '/api/v1/board', {
        token: name === 'authorization' ? undefined : token,
        headers: { [name]: value },
      });
      await rawRequest(server, 'POST', '/api/v1/ideas', {
        token: name === 'authorization' ? undefined : token,
        headers: { [name]: value },
        body: '{',
      });
    }
  }
  const basic = Buffer.from(`ada:${secret('a password of HTTP')}`).toString('base64');
  for (const authorization of [
    `Basic ${basic}`,
    `Bearer ${tokenLike('another token')}`,
    tokenLike('a token without a scheme'),
  ]) {
    await rawRequest(server, 'GET', '/api/v1/board', { headers: { authorization } });
  }
  await rawRequest(server, 'GET', '/api/v1/board', {
    headers: { 'x-request-id': tokenLike('a token as id of a request') },
  });
  await rawRequest(server, 'GET', '/api/v1/board', {
    headers: { [`x-${secret('the name of a header').replace('+', '-')}`]: 'x' },
  });

  const inPath = address('an address in a path');
  const paths = [
    inPath,
    encodeURIComponent(inPath),
    encodeURIComponent(encodeURIComponent(address('an address in a path, encoded twice'))),
    tokenLike('a token in a path'),
    `%zz${tokenLike('a token in a broken path')}`,
    `${address('an address in a broken path')}%zz`,
    `x?token=${secret('a token in a query')}&q=${address('an address in a query')}`,
    `unsubscribe?token=${secret('a link to unsubscribe', buildUnsubscribeTokens(appKey).make({ userId: 1, ideaId: 'all' }))}`,
    `unsubscribe/${buildUnsubscribeTokens(appKey).make({ userId: 1, ideaId: 'all' })}`,
  ];
  for (const path of paths) {
    for (const prefix of ['/', '/api/v1/ideas/', '/api/v1/', '/docs/'])
      await rawRequest(server, 'GET', prefix + path, { token });
    await rawRequest(server, 'POST', `/api/v1/ideas/${path}`, { token, ...json({}) });
  }

  const bodies: { headers?: Record<string, string>; body: string }[] = [
    json({ title: secret('a title'), body: address('an address in a body') }),
    json({ title: tokenLike('a token in a title'), body: 'x' }),
    json({ [secret('the name of a field')]: address('an address in a field'), title: 5 }),
    json({ title: [secret('a title that is a list')], password: secret('a password in a body') }),
    json(`{"title":"${secret('a title in a string')}"`),
    { headers: { 'content-type': 'application/json' }, body: `{"title":"${secret('JSON that is cut off')}` },
    { headers: { 'content-type': 'application/json' }, body: secret('no JSON') },
    { headers: { 'content-type': 'application/json' }, body: `{"__proto__":"${secret('a prototype')}"}` },
    { headers: { 'content-type': 'text/plain' }, body: secret('a text') },
    { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: `password=${secret('a form')}` },
    json({ title: 'x', body: secret('a body that is too large').padEnd(70_000, 'x') }),
  ];
  for (const body of bodies) {
    await rawRequest(server, 'POST', '/api/v1/ideas', { token, ...body });
    await rawRequest(server, 'POST', '/api/v1/nowhere', { token, ...body });
  }
}

test('if the server cannot start, the error message contains no secrets from the settings', async () => {
  const away = 'postgresql://127.0.0.1:1/ideas';
  const starts: [Record<string, string>, RegExp][] = [
    [
      {
        DATABASE_URL: withPassword(away, secret('a password of no database')),
        APP_KEY: randomBytes(32).toString('base64'),
      },
      /nothing accepts connections/,
    ],
    [
      {
        DATABASE_URL: `mysql://ada:${secret('a password of another database')}@127.0.0.1/x`,
        SMTP_URL: `http://ada:${secret('a password of no SMTP')}@127.0.0.1`,
        APP_KEY: secret('a key that is too short'),
        SENTRY_DSN: `nonsense ${secret('no DSN')}`,
      },
      /Invalid settings/,
    ],
  ];
  for (const [environment, reason] of starts) {
    const failure = await startProcess('start', environment).then(
      () => expect.unreachable(),
      (error: Error) => error.message,
    );
    expect(failure).toMatch(reason);
    expectNoMarker(failure);
  }
});

test("the message for an unexpected error at the start of the server contains the error's stack and causes, but no secrets", () => {
  const password = secret('the password in a fault');
  const DATABASE_URL = `postgres://ada:${encodeURIComponent(password)}@db/ideas`;
  const cause = Object.assign(new TypeError(`Invalid URL: ${DATABASE_URL}`), { input: DATABASE_URL });
  const fault = Object.assign(new Error(`not for ${address('an address in a fault')}, ${password}`, { cause }), {
    parameters: [password],
  });
  const EXT_NOTES_API_KEY = secret('the key of an extension in a fault');
  Object.assign(cause, { message: `${cause.message} for ${EXT_NOTES_API_KEY}` });
  const told = describeFailure(fault, { DATABASE_URL, EXT_NOTES_API_KEY });
  expect(told).toMatch(/^Error: not for m\*\*\*@m\*\*\*\.com#[0-9a-f]{12}, \[Redacted\]\n +at .*no-secrets/);
  expect(told).toContain('Caused by TypeError: Invalid URL: postgres://[Redacted]@db/ideas for [Redacted]\n');
  expectNoMarker(told);
});
