import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkEmail } from '../../server/domain/fields.ts';
import { canonicalAddress, mailboxOf } from '../../server/domain/users/canonical-address.ts';

describe('the canonical form of an address', () => {
  test.each([
    ['ADA@Example.COM', 'ada@example.com', 'case in ASCII'],
    [' ada@example.com\n', 'ada@example.com', 'white space around it'],
    ['ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'ada@example.com', 'the width of its letters'],
    ['\u212Aate@example.com', 'kate@example.com', 'a Kelvin sign in place of a K'],
    ['ﬁona@example.com', 'fiona@example.com', 'a ligature'],
    ['zoe\u0308@example.com', 'zoë@example.com', 'the Unicode normalization of an accent'],
    ['H\u0331@example.com', '\u1e96@example.com', 'a mark that is composed only with a small letter'],
    ['ada@BÜCHER.example', 'ada@xn--bcher-kva.example', 'a domain in Unicode or in ASCII'],
    ['ada@XN--BCHER-KVA.example', 'ada@xn--bcher-kva.example', 'upper and lower case in a Punycode domain'],
    ['ada@bücher。example', 'ada@xn--bcher-kva.example', 'a dot from another script'],
    ['ada@example.com.', 'ada@example.com', 'a dot at the end of the domain'],
    ['ada@bücher.example.', 'ada@xn--bcher-kva.example', 'a dot at the end of a Unicode domain'],
  ])('the e-mail address %j has the canonical form %j, which does not depend on %s', (text, form) => {
    expect(canonicalAddress(text)).toBe(form);
  });

  test.each([
    ['İris@example.com', 'iris@example.com', 'a dotted capital İ is not an i'],
    ['ıris@example.com', 'iris@example.com', 'a dotless ı is not an i'],
    ['\u0430da@example.com', 'ada@example.com', 'a Cyrillic а is not an a'],
    ['Élise@example.com', 'élise@example.com', 'only the mail server knows whether it ignores case outside ASCII'],
    ['ada@faß.example', 'ada@fass.example', 'DNS distinguishes ß from ss'],
    ['ada@ex%61mple.com', 'ada@example.com', 'a domain is not decoded as in a URL'],
    ['ada@ü.com/x', 'ada@ü.com', 'a domain does not end at a slash'],
    ['ada@1.2.3', 'ada@1.2.0.3', 'a domain is not read as an IP address'],
    ['ada\ud800@example.com', 'ada@example.com', 'a lone surrogate is not removed'],
  ])('the e-mail addresses %j and %j have different canonical forms: %s', (one, other) => {
    expect(canonicalAddress(one)).not.toBe(canonicalAddress(other));
  });

  test('the canonical form of an e-mail address is its own canonical form, and contains no NUL, capital ASCII letter or lone surrogate', () => {
    const unit = fc.oneof(
      fc.constantFrom('@', '.', 'İ', 'K', 'ß', '\u0331', '\u0307', 'xn--', '。', '\0'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 12 }), parts => {
        const form = canonicalAddress(parts.join(''));
        fc.pre(form.length <= 254 && !/\s/.test(form));
        expect(canonicalAddress(form)).toBe(form);
        expect(form).toMatch(/^[^A-Z\0]*$/);
        expect(form.isWellFormed()).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  test('the canonical form of a valid e-mail address is a valid e-mail address', () => {
    const letters = fc.constantFrom('a', 'Z', 'İ', 'ß', 'é', '用', 'Σ', '9', '-', '.', '＠', 'ﬁ', '%', '/');
    const part = fc.string({ unit: letters, minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(part, part, (local, domain) => {
        const accepted = attempt(`${local}@${domain}`);
        fc.pre(accepted !== undefined);
        expect(attempt(canonicalAddress(accepted))).toBe(canonicalAddress(accepted));
      }),
      { numRuns: 5_000 },
    );
  });

  test('the canonical form of a text that is too long for an e-mail address is the unchanged text', () => {
    expect(canonicalAddress('ﷺ'.repeat(255))).toBe('ﷺ'.repeat(255));
  });
});

test('mailboxOf() returns an address with the canonical domain, even if toLowerCase() would give a different domain', () => {
  // toLowerCase() would turn the last letter of the domain ΟΔΟΣ into a final sigma (οδος). The canonical domain ends
  // with an ordinary sigma (οδοσ).
  expect(mailboxOf('Ada@ΟΔΟΣ.gr')).toBe(`Ada@${canonicalAddress('x@οδοσ.gr').slice(2)}`);
  expect(mailboxOf("O'Brien+Ideas@Example.com")).toBe("O'Brien+Ideas@example.com");
});

describe('an address that a user enters', () => {
  test.each([
    ['zero-width space', 'ada\u200b@example.com', 'U+200B'],
    ['zero-width joiner', 'ada\u200d@example.com', 'U+200D'],
    ['right-to-left override', 'ada\u202e@example.com', 'U+202E'],
    ['soft hyphen', 'ada@exam\u00adple.com', 'U+00AD'],
    ['byte order mark', 'a\ufeffda@example.com', 'U+FEFF'],
    ['variation selector', 'ada\ufe0f@example.com', 'U+FE0F'],
    ['Hangul filler', 'ada\u3164@example.com', 'U+3164'],
    ['combining grapheme joiner', 'a\u034fda@example.com', 'U+034F'],
    ['blank of Braille', 'ada\u2800@example.com', 'U+2800'],
    ['tag character', 'ada\u{e0061}@example.com', 'U+E0061'],
    ['character of private use', 'ada\ue000@example.com', 'U+E000'],
    ['control character', 'ada\u0007@example.com', 'U+0007'],
  ])(
    'an e-mail address with an invisible character (%s) is refused, and the error message names the character',
    (_, address, codePoint) => {
      expect(() => checkEmail(address)).toThrow(`The address has an invisible character, ${codePoint}: remove it`);
    },
  );

  test.each([
    ['ada＠bob@example.com', 'has two @ signs, one of them in full width'],
    ['a\u00a8da@example.com', 'contains a space after NFKC normalization'],
    ['ada@ü/x.example', 'has a domain that a URL would cut off'],
    ['ada@ü%61.example', 'has a domain that a URL would decode'],
    [`${'ﷺ'.repeat(60)}@example.com`, 'is too long for SMTP after NFKC normalization'],
    [
      `ada@${'ü'.repeat(60)}.${'ü'.repeat(60)}.${'ü'.repeat(60)}.${'ü'.repeat(60)}.example`,
      'has a domain that is too long in ASCII',
    ],
    ['ada\ud800@example.com', 'contains a lone surrogate'],
  ])('checkEmail() refuses the e-mail address %j because it %s', address => {
    expect(() => checkEmail(address)).toThrow('is not an e-mail address');
  });

  test.each([
    'Ada.Lovelace+ideas@Example.COM',
    "o'brien@example.com",
    'İris@example.com',
    '用户@例子.测试',
    'ada@BÜCHER.example',
    'ada@[192.168.0.1]',
    'ada@localhost',
    'ada@exa_mple.com',
    '😀@example.com',
  ])('checkEmail() removes the white space around the e-mail address %s and changes nothing else', address => {
    expect(checkEmail(` ${address} `)).toBe(address);
  });

  test('checkEmail() replaces full-width letters of an e-mail address with ordinary letters, and keeps capital letters', () => {
    expect(checkEmail('Ａda＠Example.com')).toBe('Ada@Example.com');
  });
});

function attempt(text: string): string | undefined {
  try {
    return checkEmail(text);
  } catch {
    return undefined;
  }
}
