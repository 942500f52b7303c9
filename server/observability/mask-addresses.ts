import { canonicalAddress } from '../domain/users/canonical-address.ts';
import { cutOff } from './cut-text.ts';
import { redacted } from './redact-secrets.ts';

/** The 12 hexadecimal digits that stand for a text in a log: the same for the same text, and no way back to it. */
export type HashText = (text: string) => string;

/**
 * Where an address may be: at its sign, also in the widths of East Asian type, as a URL has it, encoded once or more, and
 * as JSON and markup may.
 */
const atSign = String.raw`[@\uff20\ufe6b]|%(?:25)*40|\\u0040|&(?:#64|#x40|commat);`;
const atSigns = new RegExp(atSign, 'gi');

/** More than a line of our own tells of. */
export const maxAddresses = 20;

/**
 * Masks every e-mail address in a text as `j***@e***.com#3f9a0c1d2b4e` (Limits, operational rule 3): the first character
 * of the local part and of the domain, the last label, and the hash of the address's canonical form. What is masked already
 * stays as it is.
 *
 * Each hash takes as long as some hundred characters, so that the text ends after a number of addresses.
 *
 * From each sign it reads to the left and to the right, and no character twice: the time is linear in the text's length.
 */
export function maskAddresses(text: string, hash: HashText): string {
  let masked = '';
  let end = 0;
  // Nothing to the left of it belongs to the next address.
  let floor = 0;
  let count = 0;
  for (const { 0: sign, index } of text.matchAll(atSigns)) {
    if (index < end) continue;
    const mask = endOfMask(text, floor, index);
    const address = mask === undefined ? readAddress(text, floor, index, sign) : undefined;
    if (mask !== undefined) {
      masked += text.slice(end, mask);
      end = mask;
    } else if (address && ++count > maxAddresses) {
      return `${masked}${text.slice(end, address.start)} ${cutOff}`;
    } else if (address) {
      masked += text.slice(end, address.start) + describe(address, hash);
      end = address.end;
    }
    // What looks like an encoded sign may be the beginning of a local part.
    floor = Math.max(end, sign.startsWith('%') ? index : index + sign.length);
  }
  return masked + text.slice(end);
}

interface Address {
  start: number;
  end: number;
  local: string;
  domain: string;
}

/** Characters that end a local part: white space, and what stands around addresses, between them and before them. */
const separator = /[\s\p{Cc}\p{Z}\p{Pi}\p{Pf}"(),:;<>@[\]\\/=?&#、。，；：（）「」]/u;
/** Separators of ASCII by their codes: nearly all characters of a log are of it. */
const isAsciiSeparator = Array.from({ length: 128 }, (_, code) => separator.test(String.fromCharCode(code)));
/** Of the others, which a list or a piece of markup has before an address, though one may begin with it. */
const opening = /^['`{|}*]+/;
/** What may stand between a local part and its sign, where somebody takes the form of addresses to its limits. */
const closing = /[)\]}>"']/;
/** Separators as a URL has them. */
const encodedSeparator = '%(?:25)*(?:[01][0-9a-f]|2[023689cf]|3[a-f]|40|5[bcd]|7f)';
const encodedSeparators = new RegExp(encodedSeparator, 'gi');
const domainPart = new RegExp(String.raw`(?:[\p{L}\p{M}\p{N}\p{Cf}._-]|(?!${encodedSeparator})%)+`, 'iuy');
/** `name@1.2.3` is a package. */
const version = /^\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[a-z]{1,10}(?:\.\d{1,4})?)?$/;
const domainLiteral = /\[(?:ipv6:)?[0-9a-f:.]{2,64}\]/iy;
const domainOfMask = /@.\*\*\*(?:\.[\p{L}\p{N}-]{1,63})?#[0-9a-f]{12}/uy;
const mask = new RegExp(`.\\*{3}${domainOfMask.source}`, 'uy');
const nextSign = new RegExp(atSign, 'iy');
/** What nobody sees: between the letters of an address it would make it another one. */
const invisible = /\p{Cf}+/gu;

function readAddress(text: string, from: number, at: number, sign: string): Address | undefined {
  // The name and password of a URL stood before it, or an address after it.
  if (text.endsWith(redacted, at) || matchAt(mask, text, at + sign.length) !== undefined) return undefined;
  const start = startOfLocal(text, from, at);
  let domainStart = at + sign.length;
  let localEnd = at;
  let end = endOfDomain(text, domainStart);
  // Of several signs in a row the last one divides: the rest is a local part that nobody should have.
  while (end > domainStart) {
    const next = matchAt(nextSign, text, end);
    const nextStart = end + (next?.length ?? 0);
    const nextEnd = next === undefined ? nextStart : endOfDomain(text, nextStart);
    if (!mayBeDomain(text.slice(nextStart, nextEnd))) break;
    [localEnd, domainStart, end] = [end, nextStart, nextEnd];
  }
  const domain = text.slice(domainStart, end);
  if (start === at || !mayBeDomain(domain)) return undefined;
  return { start, end, local: text.slice(start, localEnd), domain };
}

function mayBeDomain(text: string): boolean {
  return text.replace(invisible, '') !== '' && !version.test(text);
}

function startOfLocal(text: string, from: number, at: number): number {
  const quoted = startOfQuoted(text, from, at);
  let start = quoted ?? at;
  while (quoted === undefined && start > from && closing.test(text[start - 1] ?? '')) start--;
  const closed = start;
  while (start > from && !isSeparator(text, start - 1)) start--;
  // Nothing but brackets: the sign stands for something else.
  if (start === closed) return quoted ?? at;
  const run = text.slice(start, closed);
  const [last] = [...run.matchAll(encodedSeparators)].slice(-1);
  const local = (last ? run.slice(last.index + last[0].length) : run).replace(opening, '');
  // What ends with a separator is perhaps no address, but nobody's either.
  return closed - (local || quoted ? local : run).length;
}

function isSeparator(text: string, index: number): boolean {
  return isAsciiSeparator[text.charCodeAt(index)] ?? separator.test(text[index] ?? '');
}

/** The longest local part in quotation marks (RFC 5321, section 4.5.3.1.1), so that a lone mark costs little. */
const maxQuotedLength = 66;

/** Where `"ada osei"` begins, before its sign. */
function startOfQuoted(text: string, from: number, at: number): number | undefined {
  if (text[at - 1] !== '"') return undefined;
  const earliest = Math.max(from, at - maxQuotedLength);
  for (let index = at - 2; index >= earliest; index--) {
    if (text[index] === '\n') return undefined;
    if (text[index] === '"' && text[index - 1] !== '\\') return index;
  }
  return undefined;
}

function endOfDomain(text: string, start: number): number {
  const literal = matchAt(domainLiteral, text, start);
  if (literal !== undefined) return start + literal.length;
  let end = start + (matchAt(domainPart, text, start)?.length ?? 0);
  // What ends a sentence is no part of the domain.
  while (end > start && '._%-'.includes(text[end - 1] ?? '')) end--;
  return end;
}

function matchAt(sticky: RegExp, text: string, index: number): string | undefined {
  sticky.lastIndex = index;
  return sticky.exec(text)?.[0];
}

/** Where a mask ends whose sign is at a place; undefined where there is none. Nobody has an address that looks like it. */
function endOfMask(text: string, from: number, at: number): number | undefined {
  if (at - from < 4 || !text.startsWith('***@', at - 3)) return undefined;
  const domain = matchAt(domainOfMask, text, at);
  return domain === undefined ? undefined : at + domain.length;
}

function describe({ local, domain }: Address, hash: HashText): string {
  const [plainLocal = '', plainDomain = ''] = [local, domain].map(part => decode(part).replace(invisible, ''));
  const last = /\.([\p{L}\p{N}-]{1,63})$/u.exec(plainDomain)?.[1];
  const suffix = last === undefined ? '' : `.${last}`;
  const digest = hash(canonicalAddress(`${plainLocal}@${plainDomain}`));
  return `${firstOf(plainLocal)}***@${firstOf(plainDomain)}***${suffix}#${digest}`;
}

/** The first character that a mask may show: one that could not be taken for what stands around an address. */
function firstOf(text: string): string {
  const [first = ''] = text.replace(/^"/, '');
  return /^[\p{L}\p{N}_]$/u.test(first) ? first : '*';
}

/** As often as it was encoded, within reason. */
function decode(text: string): string {
  let decoded = text;
  try {
    for (let times = 0; times < 3 && decoded.includes('%'); times++) decoded = decodeURIComponent(decoded);
  } catch {
    // A percent sign stands for itself.
  }
  return decoded;
}
