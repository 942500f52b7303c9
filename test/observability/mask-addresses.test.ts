import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalAddress } from '../../server/domain/users/canonical-address.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { testAppKey } from '../helpers/server.ts';

const { text: mask } = buildRedactor({ appKey: testAppKey });

/**
 * Computes the hash of an email address. An operator of the server does the same to find the log lines about a person.
 */
const hashOf = (address: string) =>
  createHmac('sha256', testAppKey).update(canonicalAddress(address)).digest('hex').slice(0, 12);

const ada = `a***@e***.com#${hashOf('ada@example.com')}`;

test('a masked email address shows the first characters, the top-level domain and 12 digits of a hash with the application key', () => {
  expect(mask('ada@example.com')).toBe('a***@e***.com#c7f22a2b3094');
  expect(hashOf('ada@example.com')).toBe('c7f22a2b3094');
});

test('the hash of a masked email address ignores case, and depends on the address and the application key', () => {
  expect(mask('ADA@Example.COM').slice(-12)).toBe(hashOf('ada@example.com'));
  expect(mask('amy@example.com').slice(-12)).not.toBe(hashOf('ada@example.com'));
  const other = buildRedactor({ appKey: Buffer.alloc(32, 8) });
  expect(other.text('ada@example.com')).toMatch(/^a\*\*\*@e\*\*\*\.com#(?!c7f22a2b3094)[0-9a-f]{12}$/);
});

test('several Unicode spellings of an email address have the same hash, and an address that only looks similar has another hash', () => {
  const digits = (address: string) => mask(address).slice(-12);
  for (const spelling of ['ｋATE@bücher.example', '\u212aate@XN--BCHER-KVA.example', 'kate@BÜCHER.example']) {
    expect(digits(spelling)).toBe(digits('kate@xn--bcher-kva.example'));
  }
  expect(digits('İris@example.com')).not.toBe(digits('iris@example.com'));
});

test.each([
  ['in a sentence', 'Write to ada@example.com, or call.', `Write to ${ada}, or call.`],
  ['at the end of a sentence', 'Write to ada@example.com.', `Write to ${ada}.`],
  ['in angle brackets after a name', 'Ada Osei <ada@example.com>', `Ada Osei <${ada}>`],
  ['in a list', 'ada@example.com;ada@example.com,ada@example.com', `${ada};${ada},${ada}`],
  ['in quotation marks', `"ada@example.com" 'ada@example.com' \`ada@example.com\``, `"${ada}" '${ada}' \`${ada}\``],
  [
    'in an error message of PostgreSQL',
    'Key (lower(email))=(ada@example.com) already exists.',
    `Key (lower(email))=(${ada}) already exists.`,
  ],
  ['in a mailto URL', 'mailto:ada@example.com?subject=Hello', `mailto:${ada}?subject=Hello`],
  ['in a URL path', '/users/ada@example.com/edit', `/users/${ada}/edit`],
  ['in a URL query', '?email=ada@example.com&page=2', `?email=${ada}&page=2`],
  ['with a percent-encoded full-width @', '/ada%EF%BC%A0example.com?a=1', `/${ada}?a=1`],
  ['with a small @, percent-encoded twice', 'ada%25EF%25B9%25ABexample.com', ada],
  ['percent-encoded in a URL query', '?email=ada%40example.com&page=2', `?email=${ada}&page=2`],
  [
    'percent-encoded twice',
    'next=%2Fusers%3Femail%253Dada%2540example.com%26x',
    `next=%2Fusers%3Femail%253D${ada}%26x`,
  ],
  ['in JSON', '{"email":"ada@example.com"}', `{"email":"${ada}"}`],
  ['with an @ as a JSON escape', String.raw`{"email":"ada\u0040example.com"}`, `{"email":"${ada}"}`],
  [
    'with an @ as an HTML character reference',
    '<a>ada&#64;example.com</a> ada&#x40;example.com',
    `<a>${ada}</a> ${ada}`,
  ],
  ['with a full-width or small @', 'ada＠example.com、ada﹫example.com', `${ada}、${ada}`],
  ['with invisible characters', 'a\u200bda@\u202eexam\u00adple.com', ada],
  ['in braces and bars', '{ada@example.com}|ada@example.com|', `{${ada}}|${ada}|`],
])(
  'an email address %s is masked, and the hash covers only this address and not the text around it',
  (_, text, masked) => {
    expect(mask(text)).toBe(masked);
  },
);

test.each([
  ['ada+ideas@example.com', 'a***@e***.com'],
  ["o'brien@example.com", 'o***@e***.com'],
  ['"ada osei"@example.com', 'a***@e***.com'],
  ['ada{x}@example.com', 'a***@e***.com'],
  ['ada@mail.example.co.uk', 'a***@m***.uk'],
  ['ada@localhost', 'a***@l***'],
  ['ada@[192.168.0.1]', 'a***@****'],
  ['用户@例子.测试', '用***@例***.测试'],
  ['δοκιμή@παράδειγμα.δοκιμή', 'δ***@π***.δοκιμή'],
  ['𝒶da@example.com', '𝒶***@e***.com'],
  ['😀@example.com', '****@e***.com'],
  ['ada@bob@example.com', 'a***@e***.com'],
  [`${'a'.repeat(200)}@example.com`, 'a***@e***.com'],
])('the email address %s is masked as %s', (address, masked) => {
  const [, local = '', domain = ''] = /^(.*)@([^@]*)$/.exec(address) ?? [];
  const plain = `${local}@${domain}`;
  expect(mask(`To ${address} now`)).toBe(`To ${masked}#${hashOf(plain)} now`);
});

test.each([
  'file:///app/node_modules/@mikro-orm/core/index.js:12:5',
  'at Object.@ (a.js)',
  'noon @ the bridge',
  '@decorated',
  'idea-board@1.2.3 and fastify@5.0.0-rc.1',
  'x@@y',
  `${ada} and ${ada}`,
  `email=${ada}.`,
])('masking does not change the text %s, because it contains no unmasked email address', text => {
  expect(mask(text)).toBe(text);
});

const localPart = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9!$'*+._~^-]{0,20}$/);
const label = fc.stringMatching(/^[a-zA-Z0-9]([a-zA-Z0-9-]{0,10}[a-zA-Z0-9])?$/);
const lastLabel = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9]{0,10}$/);
const plainAddress = fc
  .tuple(localPart, fc.array(label, { maxLength: 3 }), lastLabel)
  .map(([local, labels, last]) => `${local}@${[...labels, last].join('.')}`);
const foreignAddress = fc
  .tuple(fc.stringMatching(/^[\p{L}\p{M}\p{N}]{1,12}$/u), fc.stringMatching(/^[\p{L}\p{N}]{1,12}\.\p{L}{2,8}$/u))
  .map(([local, domain]) => `${local}@${domain}`);
const address = fc.oneof(plainAddress, foreignAddress);
/**
 * Email addresses with an ambiguous hash. For example, a percent sign in the address may or may not begin an encoded
 * character.
 */
const oddAddress = fc
  .tuple(fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9%'*{}|]{0,8}$/), lastLabel)
  .map(([local, domain]) => `${local}@${domain}`);
/** Text to put before and after an email address. This text often looks like a part of an email address. */
const around = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom(
      '@',
      '%40',
      '%2540',
      '%',
      '#',
      '***',
      '"',
      '\\',
      '.',
      '=',
      ' ',
      'a',
      '[Redacted]',
      '://',
      ':',
      ada,
    ),
    maxLength: 8,
  }),
);

describe('email addresses in any text', () => {
  test('an email address between spaces is masked in any text, whether the address is URL-encoded or not', () => {
    fc.assert(
      fc.property(around, address, around, fc.constantFrom(String, encodeURIComponent), (before, one, after, write) => {
        const masked = mask(`${before} ${write(one)} ${after}`);
        const [shown] = masked.match(new RegExp(`\\S*#${hashOf(one)}`)) ?? [];
        expect(shown).toMatch(/^\S\*{3}@\S\*{3}(\.[^@\s]*)?#/u);
        // Leaves out the masked address, because it contains an address such as a***@a.
        const others = masked.replace(shown ?? '', '').toLowerCase();
        expect(others).not.toContain(one.toLowerCase());
        expect(others).not.toContain(encodeURIComponent(one).toLowerCase());
      }),
      { numRuns: 2_000 },
    );
  });

  test('masking changes any text that contains an email address, even without spaces around the address', () => {
    fc.assert(
      fc.property(around, fc.oneof(address, oddAddress), around, (before, one, after) => {
        // A letter next to an email address becomes part of the address. So the test looks for the whole text, not only
        // for the address.
        expect(mask(`${before}<${one}>${after}`)).not.toContain(`<${one}>`);
        expect(mask(before + one + after)).not.toContain(before + one + after);
      }),
      { numRuns: 1_000 },
    );
  });

  test('masking the email addresses in a text that is already masked changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(around, address, oddAddress), { maxLength: 6 }), parts => {
        const once = mask(parts.join(''));
        expect(mask(once)).toBe(once);
      }),
      { numRuns: 3_000 },
    );
  });
});
