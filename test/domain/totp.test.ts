import { expect, test } from 'vitest';
import { makeRecoveryCodes, normalizeRecoveryCode } from '../../server/domain/second-factor/recovery-codes.ts';
import { buildSecondFactorKeys } from '../../server/domain/second-factor/second-factor-keys.ts';
import { makeTotpSecret, timeStepOf, totpUrl } from '../../server/domain/second-factor/totp.ts';

/** The secret `12345678901234567890` of the test vectors of RFC 6238, in base32. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

/**
 * The test vectors of RFC 6238, appendix B, for SHA-1. Each code has only the last six of the eight digits in the RFC.
 */
const vectors: [seconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
];

test.each(vectors)(
  'at %i seconds after the start of 1970, the server accepts the code %s that RFC 6238 gives for this time',
  (seconds, code) => {
    expect(timeStepOf(secret, code, new Date(seconds * 1000))).toBe(Math.floor(seconds / 30));
  },
);

test('a code of an authenticator app is valid in its own time step, and in the steps directly before and after it', () => {
  const at = (step: number) => timeStepOf(secret, '081804', new Date(step * 30_000));
  const own = Math.floor(1_111_111_109 / 30);
  expect([-2, -1, 0, 1, 2].map(offset => at(own + offset))).toEqual([undefined, own, own, own, undefined]);
});

test('a code of an authenticator app may contain spaces, but no other characters', () => {
  const at = (code: string) => timeStepOf(secret, code, new Date(59_000));
  expect([' 287 082 ', '287082'].map(at)).toEqual([1, 1]);
  expect(['', '28708', '2870820', '28708a', '-87082', '287-082', '２８７０８２'].map(at)).toEqual(
    Array(7).fill(undefined),
  );
});

test('each of twenty new secrets for authenticator apps has 160 bits, and all are different', () => {
  const secrets = Array.from({ length: 20 }, makeTotpSecret);
  expect(new Set(secrets).size).toBe(20);
  for (const one of secrets) expect(one).toMatch(/^[A-Z2-7]{32}$/);
});

test('the URL in the QR code for an authenticator app names the issuer, the user, SHA-1, six digits and a time step of 30 seconds', () => {
  const url = new URL(totpUrl(secret, { issuer: 'Idea-Board (ideas.example.com)', label: 'ada@example.com' }));
  expect([url.protocol, url.host, decodeURIComponent(url.pathname)]).toEqual([
    'otpauth:',
    'totp',
    '/Idea-Board (ideas.example.com):ada@example.com',
  ]);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    issuer: 'Idea-Board (ideas.example.com)',
    secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});

test('ten new recovery codes have 80 bits each, are all different, and contain no i, l, o or u', () => {
  const codes = makeRecoveryCodes();
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}$/);
});

test('a recovery code is accepted in capitals, without hyphens, with spaces, and with letters that look like the right digits', () => {
  const spellings = ['7k2m-x9qd-4c0v-h8t1', '7K2MX9QD4C0VH8T1', ' 7k2m x9qd 4cov h8tl ', '7K2M-X9QD-4COV-H8TI'];
  for (const one of spellings) expect(normalizeRecoveryCode(one)).toBe('7k2mx9qd4c0vh8t1');
  for (const one of ['', '287082', '7k2m-x9qd-4c0v-h8tu', '7k2m-x9qd-4c0v-h8t', '7k2m-x9qd-4c0v-h8t11']) {
    expect(normalizeRecoveryCode(one), one).toBeUndefined();
  }
});

test('the server can decrypt the encrypted new secret of an authenticator app only for the same user, before the expiry, and with the same APP_KEY', () => {
  const keys = buildSecondFactorKeys(Buffer.alloc(32, 1));
  const expiresAt = new Date('2026-03-02T09:30:00Z');
  const before = new Date(expiresAt.getTime() - 1);
  const offer = keys.sealOffer(7, secret, expiresAt);
  expect(offer).not.toContain(secret);
  expect(keys.openOffer(7, offer, before)).toBe(secret);
  expect(keys.openOffer(7, offer, expiresAt)).toBeUndefined();
  expect(keys.openOffer(8, offer, before)).toBeUndefined();
  expect(keys.openOffer(7, '', before)).toBeUndefined();
  expect(buildSecondFactorKeys(Buffer.alloc(32, 2)).openOffer(7, offer, before)).toBeUndefined();
});

test('a stored secret of an authenticator app cannot be decrypted for another user, and hashes of recovery codes depend on the user', () => {
  const keys = buildSecondFactorKeys(Buffer.alloc(32, 1));
  expect(keys.open(7, keys.seal(7, secret))).toBe(secret);
  expect(() => keys.open(8, keys.seal(7, secret))).toThrow();
  expect(keys.hashOf(7, '7k2mx9qd4c0vh8t1')).not.toEqual(keys.hashOf(8, '7k2mx9qd4c0vh8t1'));
});
