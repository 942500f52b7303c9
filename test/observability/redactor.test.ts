import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { User } from '../../server/entities/user.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { testAppKey } from '../helpers/server.ts';

const { text, value } = buildRedactor({ appKey: testAppKey });

const marker = () => randomBytes(16).toString('base64url');

describe('the redaction of a text', () => {
  const jwt = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from('{"sub":"7","name":"Ada Lovelace"}').toString('base64url')}.${'x'.repeat(43)}`;
  const secret = `ib_7_${'a'.repeat(43)}`;

  test.each([
    ['a token', secret, 'ib_7_[Redacted]'],
    ['a token that is cut off, or inside a word', `x${secret.slice(0, 20)}`, 'xib_7_[Redacted]'],
    ['an access token', `Bearer x iba_${'a'.repeat(43)}`, 'Bearer [Redacted] iba_[Redacted]'],
    ['a refresh token', `"ibr_${'-'.repeat(43)}"`, '"ibr_[Redacted]"'],
    ['an OAuth code in a URL', `/callback?code=ibc_${'_'.repeat(43)}&state=x`, '/callback?code=ibc_[Redacted]&state=x'],
    ['a registration access token', `ibg_${'a'.repeat(43)}`, 'ibg_[Redacted]'],
    ['a PKCE verifier', `code_verifier=${'a'.repeat(43)}&x=1`, 'code_verifier=[Redacted]&x=1'],
    ['the secret of an OAuth client', `client_secret=${'a'.repeat(86)}`, 'client_secret=[Redacted]'],
    ['an embedding secret', `ibe_${'a'.repeat(43)}`, 'ibe_[Redacted]'],
    [
      'a session cookie of an embedded board',
      '__Host-idea_board_embedded=bound.abc; Path=/',
      '__Host-idea_board_embedded=[Redacted]; Path=/',
    ],
    ['a JSON Web Token', `got ${jwt}, no`, 'got [Redacted], no'],
    ['a JSON Web Token whose signature is cut off', `"${jwt.slice(0, 70)}"`, '"[Redacted]"'],
    [
      'a JSON Web Token in a URL',
      `/b/web-app/embed?account=acme&token=${jwt}#x`,
      '/b/web-app/embed?account=acme&token=[Redacted]#x',
    ],
    ['a JSON Web Token in an encoded URL', `next=%2Fembed%3Fjwt%3D${jwt}`, 'next=%2Fembed%3Fjwt%3D[Redacted]'],
    ['a webhook secret', 'whsec_Zm9v/YmFy+cXV4==', 'whsec_[Redacted]'],
    ['a bearer token', 'got Bearer abc.def-ghi, no', 'got Bearer [Redacted], no'],
    ['a bearer token in a URL', 'x=Bearer%20abcdef&y', 'x=Bearer%20[Redacted]'],
    ['the credentials of HTTP Basic', 'Basic dXNlcjpwYXNzd29yZA==', 'Basic [Redacted]'],
    [
      'the value of an Authorization header',
      'Authorization: Custom a b c\nHost: x',
      'Authorization: [Redacted]\nHost: x',
    ],
    ['the values of a Set-Cookie header', 'set-cookie: a=1; b=2\r\nhost: x', 'set-cookie: [Redacted]\r\nhost: x'],
    ['the user and password of a URL', 'postgres://ada:s3cret@db:5432/ideas', 'postgres://[Redacted]@db:5432/ideas'],
    ['the password of a URL with an at sign', 'smtp://ada:p@ss@mail.example.com', 'smtp://[Redacted]@mail.example.com'],
    ['the password of a URL with a slash', 'postgres://ada:pa/ss@db/ideas', 'postgres://[Redacted]@db/ideas'],
    [
      'the key in the URL of a Sentry project',
      'https://0123abcd@sentry.example.com/4',
      'https://[Redacted]@sentry.example.com/4',
    ],
    ['the password in a connection string', 'host=db password=s3cret user=ada', 'host=db password=[Redacted] user=ada'],
    ['a token in a URL parameter', '/x?access_token=abc&page=2', '/x?access_token=[Redacted]&page=2'],
    ['a secret in JSON', '{"client_secret":"a\\"b","id":7}', '{"client_secret":"[Redacted]","id":7}'],
    [
      'a secret in JSON in a string',
      String.raw`{\"password\":\"a\\\"b c\",\"id\":7}`,
      String.raw`{\"password\":\"[Redacted]\",\"id\":7}`,
    ],
    [
      'a secret in JSON in a string of JSON',
      JSON.stringify(JSON.stringify(JSON.stringify({ token: 'a "b" c', id: 7 }))),
      JSON.stringify(JSON.stringify(JSON.stringify({ token: '[Redacted]', id: 7 }))),
    ],
    ['a list of tokens in JSON', '{"tokens":["a","b"],"token_ids":[7, 8]}', '{"tokens":[Redacted],"token_ids":[7, 8]}'],
    [
      'a token in a URL parameter that is encoded twice',
      'next=%252Fx%253Ftoken%253Dabc',
      'next=%252Fx%253Ftoken%253D[Redacted]',
    ],
    ['the value of a folded Cookie header', 'Cookie: a=1;\r\n b=2\r\nHost: x', 'Cookie: [Redacted]\r\nHost: x'],
    ['a session cookie', '__Host-idea_board_session=abc; Path=/', '__Host-idea_board_session=[Redacted]; Path=/'],
    [
      'the webhook URL of a Slack channel in a query',
      'u=https%3A%2F%2Fhooks.slack.com%2Fservices%2Fx&y',
      'u=https%3A%2F%2Fhooks.slack.com/…',
    ],
    [
      'the webhook URL of a Slack channel',
      'https://hooks.slack.com/services/T0/B0/xyz now',
      'https://hooks.slack.com/… now',
    ],
    ['the webhook URL of a Discord channel', 'https://discord.com/api/webhooks/12/xyz', 'https://discord.com/…'],
    [
      'the webhook URL of a Mattermost channel',
      'https://chat.example.com/hooks/ab3defghijklmnopqrstuvwxyz',
      'https://chat.example.com/hooks/[Redacted]',
    ],
    [
      'the webhook URL of a Teams channel',
      'https://x.logic.azure.com:443/workflows/1/triggers?sig=abc',
      'https://x.logic.azure.com:443/…',
    ],
    [
      'the token of a link that confirms an e-mail address',
      `/x/notification_email.12.1790000000.${'b'.repeat(22)}.YWRhQGV4YW1wbGUuY29t.${'x'.repeat(43)}`,
      '/x/notification_email.12.1790000000.[Redacted]',
    ],
    ['the token of an unsubscribe link', `/unsubscribe/12.all.${'x'.repeat(43)}`, '/unsubscribe/12.all.[Redacted]'],
    [
      'the token of an invitation link',
      `/admin/invitations/${'x'.repeat(43)}/accept`,
      '/admin/invitations/[Redacted]/accept',
    ],
    [
      'the token of an invitation link in a query parameter',
      `?next=%2Fadmin%2Finvitations%2F${'x'.repeat(43)}`,
      '?next=%2Fadmin%2Finvitations%2F[Redacted]',
    ],
    [
      'a value that PostgreSQL quotes',
      'invalid input syntax for type bigint: "my "own" words"',
      'invalid input syntax for type bigint: "[Redacted]"',
    ],
  ])('the redactor removes %s from a text, and redacting the text again changes nothing', (_, given, redacted) => {
    expect(text(given)).toBe(redacted);
    expect(text(redacted)).toBe(redacted);
  });

  test.each([
    'token 7 of account 1',
    'tokenId=7, token_ids: 8',
    'signal: SIGTERM',
    'the bucket apitoken:read, counted as apitoken:write:7',
    'at createToken (file:///app/server/domain/tokens/create-token.ts:61:20)',
    'Basic authentication is not supported',
    'http://127.0.0.1:3000/@ada',
    'password authentication failed for user "ideas"',
    'duplicate key value violates unique constraint "users_email_key"',
  ])('the redactor does not change the text %s, because it contains no secret', given => {
    expect(text(given)).toBe(given);
  });

  test('the redactor removes tokens, secrets and passwords from any surrounding text', () => {
    const around = fc.string({ unit: 'grapheme', maxLength: 8 });
    const form = fc.constantFrom(
      (one: string) => `ib_7_${one}`,
      (one: string) => `whsec_${one}`,
      (one: string) => `Bearer ${one}`,
      (one: string) => `postgres://ada:${one}@db/ideas`,
      (one: string) => `password=${one}`,
      (one: string) => `"client_secret": "${one}"`,
      (one: string) => `https://hooks.slack.com/services/T0/B0/${one}`,
    );
    fc.assert(
      fc.property(around, form, fc.stringMatching(/^[A-Za-z0-9]{43}$/), around, (before, write, one, after) => {
        const redacted = text(`${before} ${write(one)} ${after}`);
        expect(redacted).not.toContain(one);
        expect(text(redacted)).toBe(redacted);
      }),
      { numRuns: 2_000 },
    );
  });

  test('the redactor removes APP_KEY, a strong database password and the key in SENTRY_DSN from a text, in several encodings', () => {
    const password = `${marker()}+/&`;
    const key = randomBytes(32);
    const dsnKey = randomBytes(16).toString('hex');
    const config = loadConfig({
      DATABASE_URL: `postgres://ideas:${encodeURIComponent(password)}@db/ideas`,
      APP_KEY: key.toString('base64'),
      SENTRY_DSN: `https://${dsnKey}@sentry.example.com/1`,
    });
    const { text: redact } = buildRedactor({ appKey: key, settings: config });
    const forms = [password, encodeURIComponent(password), key.toString('base64'), key.toString('base64url')];
    for (const form of [...forms, key.toString('hex'), key.toString('hex').toUpperCase(), dsnKey]) {
      expect(redact(`What says ${form} is this.`)).toMatch(/^What says \[Redacted\]=* is this\.$/);
    }
  });

  test('the redactor keeps the word "postgres" in a text even if "postgres" is the database password', () => {
    const config = loadConfig({ DATABASE_URL: 'postgres://postgres:postgres@db/ideas' });
    const { text: redact } = buildRedactor({ appKey: testAppKey, settings: config });
    expect(redact('the postgres process')).toBe('the postgres process');
  });
});

describe('the redaction of a value', () => {
  test('the redactor masks email addresses at any depth of a value: in keys, arrays, maps, sets, headers and errors', () => {
    const masked = 'a***@e***.com#c7f22a2b3094';
    const deep = { 'ada@example.com': [{ list: [['ada@example.com']] }] };
    expect(value(deep)).toEqual({ [masked]: [{ list: [[masked]] }] });
    expect(value(new Map([['ada@example.com', new Set(['ada@example.com'])]]))).toEqual({ [masked]: [masked] });
    expect(value(new Headers({ from: 'ada@example.com', authorization: 'x' }))).toEqual({
      from: masked,
      authorization: '[Redacted]',
    });
    expect(value(new URLSearchParams('to=ada@example.com&token=x'))).toEqual({ to: masked, token: '[Redacted]' });
    expect(value(new URL('https://ada%40example.com:x@example.com/'))).toBe('https://[Redacted]@example.com/');
    const error = new Error('to ada@example.com', {
      cause: new AggregateError([new Error('from ada@example.com')], 'ada@example.com'),
    });
    const described = JSON.stringify(value({ err: error }));
    expect(described).not.toContain('ada@');
    expect(described.split(masked)).toHaveLength(7);
  });

  test('the redactor removes secret header values from a list in which header names and values alternate', () => {
    const headers = ['Host', 'x', 'Cookie', 'a=1', 'X-Api-Key', 'a'];
    expect(value({ headers, pairs: [['set-cookie', 'a=1']] })).toEqual({
      headers: ['Host', 'x', 'Cookie', '[Redacted]', 'X-Api-Key', '[Redacted]'],
      pairs: [['set-cookie', '[Redacted]']],
    });
  });

  test('the redactor removes the values of fields with names such as password or token in many spellings, and keeps numeric ids', () => {
    const secrets = {
      authorization: 'a',
      'Proxy-Authorization': ['a'],
      cookie: { a: 1 },
      'set-cookie': 'a',
      password: 5,
      PGPASSWORD: 'a',
      passwd: null,
      newPassword: 'a',
      client_secret: 'a',
      webhookSecret: 'a',
      secret_hash: Buffer.from('a'),
      token: 'a',
      'X-Api-Key': 'a',
      apiKey: 'a',
      APP_KEY: 'a',
      access_token: 'a',
      accessToken: 'a',
      tokenId: 'abc',
      'Idempotency-Key': 'a',
      SENTRY_DSN: 'a',
      jwt: 'a',
      auth: 'a',
      pass: 'a',
      sessionId: 7,
      session_id: '7',
      csrf: 'a',
      code_verifier: 'a',
      credentials: ['a'],
    };
    expect(Object.values(value(secrets) as object)).toEqual(Object.values(secrets).map(() => '[Redacted]'));
    const plain = {
      tokenId: 7,
      token_id: '8',
      tokenIds: [7, 8],
      key: 'open',
      code: '23505',
      status: 401,
      name: 'Bot',
      author: 'Ada',
    };
    expect(value(plain)).toEqual(plain);
  });

  test('the redactor returns a copy of any value that can be converted to JSON, and does not change the original', () => {
    const circular: Record<string, unknown> = {
      name: 'Ada',
      big: 12n,
      sign: Symbol('x'),
      work() {},
      when: new Date(0),
      never: new Date(Number.NaN),
    };
    circular.self = [circular];
    const shared = { id: 1 };
    circular.twice = [shared, shared];
    circular.bytes = Buffer.from('bytes');
    Object.defineProperty(circular, 'broken', {
      enumerable: true,
      get() {
        throw new Error('no');
      },
    });
    expect(JSON.parse(JSON.stringify(value(circular)))).toEqual({
      name: 'Ada',
      big: '12',
      sign: 'Symbol(x)',
      when: '1970-01-01T00:00:00.000Z',
      never: null,
      self: ['[Circular]'],
      twice: [{ id: 1 }, { id: 1 }],
      bytes: '[5 bytes]',
      broken: '[Unreadable]',
    });
    expect(circular.name).toBe('Ada');
    expect(value({ toJSON: () => ({ email: 'ada@example.com' }) })).toEqual({ email: 'a***@e***.com#c7f22a2b3094' });
  });

  test('the redactor shortens a value that is nested too deeply or has too many elements', () => {
    let deep: unknown = 'ada@example.com';
    for (let n = 0; n < 100; n++) deep = { deep };
    expect(JSON.stringify(value(deep))).toContain('[…]');
    const wide = Array.from({ length: 20_000 }, () => ({ one: 1 }));
    expect(JSON.stringify(value(wide)).length).toBeLessThan(200_000);
    expect(value(Array(5_000).fill('a'))).toEqual([...Array(1_000).fill('a'), '[…]']);
    expect(Object.keys(value(Object.fromEntries(wide.entries())) as object)).toHaveLength(1_000);
  });
});

describe('the redaction of a database error', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => expect.unreachable(),
      (error: unknown) => error,
    );
  const described = (error: unknown) => value({ err: error }) as { err: Record<string, unknown> };

  test('a redacted database error contains the error code, the constraint and the table, but no values of rows or parameters', async () => {
    const email = `${marker()}@example.com`;
    const name = marker();
    const insert = () =>
      db.database.transaction(async ({ em }) => {
        em.create(User, { email, name });
        await em.flush();
      });
    await insert();
    const byOrm = await failureOf(insert());
    const byPg = await failureOf(db.sql('insert into users (email, name) values ($1, $2)', [email, name]));
    for (const error of [byOrm, byPg]) {
      const { err } = described(error);
      expect(err).toMatchObject({ code: '23505', constraint: 'users_email_key', table: 'users', severity: 'ERROR' });
      expect(err.message).toBe('duplicate key value violates unique constraint "users_email_key"');
      expect(err.stack).toMatch(/\n +at .+:\d+:\d+/);
      expect(JSON.stringify(err)).not.toContain(name);
      expect(JSON.stringify(err)).not.toContain(email.slice(0, 22));
      expect(JSON.stringify(err)).not.toContain('insert into');
    }
  });

  test('a redacted database error about a failing row does not contain the values of the row', async () => {
    const bio = marker();
    const failure = await failureOf(
      db.database.transaction(async ({ em }) => {
        em.create(User, { email: `${marker()}@example.com`, name: bio, isPlaceholder: true });
        em.create(User, { email: `${marker()}@example.com`, name: `${bio}\n`.repeat(20) });
        await em.flush();
      }),
    );
    expect((failure as Error).message).toContain('Failing row contains');
    expect(JSON.stringify(described(failure))).not.toContain(bio);
    expect(JSON.stringify(described(failure))).toContain('violates check constraint');
    expect(text(`A job failed: ${(failure as Error).message}\n    at x`)).not.toContain(bio);
  });

  test('a redacted database error about an invalid value does not quote the value', async () => {
    const secret = `x${marker()} and "more"\nof it`;
    const failures = [
      db.sql('select $1::bigint', [secret]),
      db.sql('select $1::timestamptz', [secret]),
      db.sql('select $1::int[]', [secret]),
      db.sql('select $1::json', [secret]),
      db.sql(`select to_timestamp($1, 'YYYY')`, [secret]),
      db.sql(`select set_config('work_mem', $1, false)`, [secret]),
      db.sql('select $1::text::int', ['99999999999']),
    ];
    for (const error of await Promise.all(failures.map(failureOf))) {
      expect((error as pg.DatabaseError).code).toMatch(/^22/);
      const line = JSON.stringify(described(error));
      if ((error as Error).message.includes('"')) expect(line).toContain('[Redacted]');
      expect(line).not.toContain(secret.slice(0, 22));
      expect(line).not.toContain('more');
      expect(line).not.toContain('99999999999');
      // When a job fails, the worker logs a message in this form.
      expect(text(`Failed task with error '${(error as Error).message}'`)).not.toContain(secret.slice(0, 22));
    }
  });

  test('the redacted error of a statement timeout does not contain the parameters of the statement', async () => {
    const secret = marker();
    await db.database.transaction(async ({ em }) => {
      await em.execute('set local statement_timeout = 5');
      const error = await failureOf(em.execute('select pg_sleep(5), ?::text', [secret]));
      expect(JSON.stringify(described(error))).toContain('57014');
      expect(JSON.stringify(described(error))).not.toContain(secret);
    });
  });
});
