import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loggedPath } from '../../server/http/answer-log.ts';
import { cutOff, maskAddresses, maxAddresses } from '../../server/observability/mask-addresses.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startServerForTest, testAppKey } from '../helpers/server.ts';
import { logStatements } from '../helpers/statement-log.ts';

const { text, value } = buildRedactor({ appKey: testAppKey });

/** The redactor reads only this number of characters of a text, and removes the rest of the text. */
const maxLength = 4_096;

/** Returns how many email addresses the redactor hashes in a text. Hashing takes most of the redactor's time. */
function countHashes(given: string): number {
  let count = 0;
  maskAddresses(given, () => {
    count++;
    return '0123456789ab';
  });
  return count;
}

describe('the work of the redactor', () => {
  test.each([
    'a',
    '@',
    'a@',
    '%40',
    'a%40',
    '"@',
    ')@',
    '))',
    '://',
    '://a:b',
    '://a@',
    'secret="',
    `secret='x"`,
    'token',
    'token\\":\\"',
    'token:["',
    'bearer ',
    'basic ',
    'value "',
    'invalid input syntax for ',
    '/hooks/',
    '1',
    '1.all.',
    'j***@e***.com#3f9a0c1d2b4e',
    'ib_1_',
    'password: ',
    'authorization',
    'a@b.',
    '%',
    'x@-',
    '\u200ba@\u200b',
    'a@\u200b',
    'a@\u200bb@1.2.3',
    '\\',
    'token=[',
    'cookie: a\r\n ',
    'cookie= ',
    '[Redacted]',
    '***',
    '😀',
    '/a@a',
    '\n',
    'token:["',
    'token:["\n',
    '\n - detail: ',
  ])('the redactor reads only the first 4,096 characters of a long text that repeats %j', unit => {
    const [short, long] = [maxLength + 1, 40 * maxLength].map(length => unit.repeat(length));
    expect(text(long ?? '')).toBe(text(short ?? ''));
    expect(text(long ?? '').length).toBeLessThan(4 * maxLength);
    expect(countHashes(long ?? '')).toBeLessThanOrEqual(maxAddresses);
  });

  test('the redactor masks the first twenty email addresses of a text and removes the rest of the text', () => {
    const given = Array.from({ length: 500 }, (_, n) => `person${n}@example.com`).join(' ');
    const masked = text(given);
    expect(masked.match(/p\*\*\*@e\*\*\*\.com#[0-9a-f]{12}/g)).toHaveLength(maxAddresses);
    expect(masked.endsWith(`  ${cutOff}`)).toBe(true);
    expect(masked).not.toContain('person');
    expect(text(masked)).toBe(masked);
    expect(countHashes(given)).toBe(maxAddresses);
  });

  test('the redactor hashes at most twenty email addresses of a text, in any notation and at any position', () => {
    const part = fc.constantFrom(
      'a@a',
      '/a@a',
      'a%40b',
      '"a b"@c',
      'a@[1.2.3.4]',
      'a\\u0040b',
      'a&#64;b',
      '用@例',
      'a@b@c',
      ' ',
      ',',
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 50, maxLength: 2_000 }), parts => {
        expect(countHashes(parts.join(''))).toBeLessThanOrEqual(maxAddresses);
      }),
      { numRuns: 200 },
    );
  });

  test('the redactor limits the output size for a value that contains many long texts', () => {
    const texts = Array.from({ length: 900 }, () => 'x'.repeat(10_000));
    expect(JSON.stringify(value({ texts })).length).toBeLessThan(50_000);
    const nested = new AggregateError(texts.map(one => new Error(one)));
    expect(JSON.stringify(value({ err: nested })).length).toBeLessThan(100_000);
  });

  test('the redactor keeps the stack frames of an error whose message is too long', () => {
    const { err } = value({ err: new Error(`quoted: ${'input '.repeat(10_000)}`) }) as { err: Record<string, string> };
    expect(err.message?.length).toBeLessThanOrEqual(maxLength + cutOff.length);
    expect(err.stack).toMatch(/^Error: \[…\]\n +at .+:\d+:\d+/);
  });
});

/**
 * Secrets and email addresses. Each row has a description, the text before the secret, and the part that the log must
 * not contain.
 */
const hidden: [string, string, string][] = [
  ['an email address', '/users/', 'grace.hopper@example.com'],
  ['an email address in a query', 'email=', 'grace.hopper@example.com'],
  ['a percent-encoded email address', '/users/', 'grace.hopper%40example.com'],
  ['an email address in quotation marks', 'to ', '"grace brewster hopper"@example.com'],
  ['a token', 'x ib_7_', 'Qm9hcmRUb2tlblNlY3JldFdpdGg0M0NoYXJhY3RlcnM'],
  ['an access token', '/x/iba_', 'Qm9hcmRUb2tlblNlY3JldFdpdGg0M0NoYXJhY3RlcnM'],
  ['a webhook secret', 'whsec_', 'Qm9hcmRU/b2tlblNlY3JldF+dpdGg0M0NoYXJhY3RlcnM='],
  ['a password in a URL', 'postgres://ideas:', 'Qm9hcm/RUb2tlblNlY3Jl@db/ideas'],
  ['a password', 'password=', 'Qm9hcmRUb2tlblNlY3Jl'],
  ['a password in JSON', '{"password":"', 'Correct horse battery staple"}'],
  ['a password in JSON in a string', '{\\"password\\":\\"', 'Correct horse battery staple\\"}'],
  ['a password in single quotes', "password='", "Correct horse battery staple'"],
  ['a list of tokens', '"tokens":[', '"Correct","horse","battery"]'],
  ['an Authorization header', 'authorization: Bearer ', 'Qm9hcmRUb2tlblNlY3Jl'],
  ['a Cookie header', 'cookie: ', 'first=Qm9hcmRU; second=b2tlblNlY3Jl'],
  ['an invitation link', '/admin/invitations/', 'Qm9hcmRUb2tlblNlY3JldFdpdGg0M0NoYXJhY3RlcnM'],
  ['an unsubscribe link', '/unsubscribe/12.all.', 'Qm9hcmRUb2tlblNlY3JldFdpdGg0M0NoYXJhY3RlcnM'],
  ['the webhook URL of a Slack channel', 'https://hooks.slack.com/services/', 'Qm9hcmRU/b2tlblN/lY3JldFdpdGg0M0No'],
  ['the webhook URL of a Mattermost channel', 'https://chat.example.com/hooks/', 'qm9hcmrub2tlblnly3jldfdpdg'],
  ['a value that PostgreSQL quotes', 'invalid input syntax for type bigint: "', 'Correct "horse" battery staple"'],
];

describe('a text that is cut in the middle of a secret or an address', () => {
  /** Returns the words in the first part of a secret or email address. Leaves out words of one or two characters. */
  const wordsOf = (half: string) => half.split(/[^A-Za-z0-9]+/).filter(word => word.length >= 3);

  test.each(hidden)(
    'if a text is cut in the middle of %s, the redactor also removes the piece that remains before the cut',
    (_, before, secret) => {
      for (let length = 1; length < secret.length; length++) {
        const half = secret.slice(0, length);
        const ways = [
          // The redactor cuts the first text, the request log cuts the second text, and the third text is cut before it
          // reaches the server.
          text(
            `${'- '.repeat((maxLength - before.length - length) >> 1).padStart(maxLength - before.length - length)}${before}${secret} and more`,
          ),
          text(loggedPath(`${'/'.repeat(512 - before.length - length)}${before}${secret}`.replaceAll('?', '/'))),
          text(`A sentence, then ${before}${half}${cutOff}`),
        ];
        for (const [way, shown] of ways.entries()) {
          const seen = wordsOf(half).filter(word => shown.includes(word));
          expect([way, half, seen]).toEqual([way, half, []]);
        }
      }
    },
  );

  test('if a text is cut at any position within an email address, the redactor also removes the part of the address before the cut', () => {
    const local = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9!$'*+.~^-]{2,20}$/);
    fc.assert(
      fc.property(
        local,
        fc.constantFrom('@', '%40'),
        fc.nat(30),
        fc.constantFrom(' ', '/', '=', '"', '<', ','),
        (name, sign, at, before) => {
          const cut = `${before}${name}${sign}example.com`.slice(0, Math.max(3, at) + 1);
          expect(text(cut + cutOff)).not.toContain(cut.slice(1, name.length + 1));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('the log of a server', () => {
  const lines = (logLines: string[]) => logLines.filter(line => line.includes('"msg":"request"'));

  test('the log line of a request with a path or header of about 15,000 characters is short, even if a rate limit refuses the request', async () => {
    const server = await startServerForTest({ environment: { RATE_LIMIT_IP: '1' } });
    const long = '/a@a'.repeat(3_750);
    for (const path of [
      long,
      `/x?${long}`,
      `/${'%40a'.repeat(3_500)}`,
      `/${'token='.repeat(2_500)}`,
      `/b/${'x'.repeat(15_000)}`,
    ]) {
      await rawRequest(server, 'GET', path, { headers: { 'x-request-id': 'x'.repeat(129) } });
    }
    for (const name of ['user-agent', 'referer', 'origin', 'cookie', 'authorization', 'x-forwarded-for', 'mcp-name']) {
      await rawRequest(server, 'GET', '/x', { headers: { [name]: 'a@a '.repeat(3_500) } });
    }
    await expect.poll(() => lines(server.logLines)).toHaveLength(12);
    for (const line of server.logLines) {
      expect(line.length).toBeLessThan(1_000 + maxAddresses * 30);
      expect(line.match(/#[0-9a-f]{12}/g)?.length ?? 0).toBeLessThanOrEqual(maxAddresses);
    }
    for (const line of server.auditLines) expect(line.length).toBeLessThan(1_000);
  });

  test('the log contains neither the name of an unknown MCP tool nor the client name in an MCP request', async () => {
    const server = await startServerForTest();
    const { token } = await issueToken(server, await createWorld(server), 'read');
    const long = 'made-up-name '.repeat(1_000);
    const message = {
      jsonrpc: '2.0',
      id: long,
      method: 'tools/call',
      params: { name: long, clientInfo: { name: long } },
    };
    const headers = { 'content-type': 'application/json' };
    await rawRequest(server, 'POST', '/api/v1/mcp', { token, headers, body: JSON.stringify(message) });
    await expect.poll(() => lines(server.logLines)).toHaveLength(1);
    expect(server.logLines.join('')).not.toContain('made-up');
  });
});

test('a request above the rate limit of its IP address causes only one SQL statement, fewer than a successful request causes', async () => {
  const server = await startServerForTest({ environment: { RATE_LIMIT_IP: '3' } });
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'read');
  await insertIdea(server, world);
  const ask = () => logStatements(() => rawRequest(server, 'GET', '/api/v1/ideas', { token }));
  const served = await ask();
  await ask();
  await ask();
  const refused = await ask();
  expect([served.result.status, refused.result.status]).toEqual([200, 429]);
  expect(refused.statements).toHaveLength(1);
  expect(served.statements.length).toBeGreaterThan(1);
});
