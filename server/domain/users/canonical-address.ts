import { domainToASCII } from 'node:url';

/**
 * The maximum length of an e-mail address: the longest path in SMTP (RFC 5321, section 4.5.3.1.3) without its angle
 * brackets.
 */
export const maxAddressLength = 254;

/**
 * Returns the canonical form of an e-mail address: NFKC, with the domain in ASCII (IDNA) and all ASCII letters in lower
 * case. Compare, count and hash addresses only in their canonical form. Never compute the canonical form in SQL:
 * PostgreSQL and JavaScript have different case rules for non-ASCII letters.
 *
 * Every text has a canonical form that PostgreSQL can store. A text that is too long for an address is not converted to
 * NFKC, because the conversion costs time.
 */
export function canonicalAddress(text: string): string {
  const trimmed = text.trim().toWellFormed().replaceAll('\0', '\ufffd');
  if (trimmed.length > maxAddressLength) return trimmed;
  // The second conversion to NFKC is necessary. After the change to lower case, a letter and the combining mark after
  // it may form a pair that NFKC writes as one character.
  const plain = lowerAscii(trimmed.normalize('NFKC')).normalize('NFKC');
  const { local, domain } = splitAddress(plain);
  return `${local}${(domainInAscii(domain) ?? domain).replace(/\.+$/, '')}`;
}

/** Returns an e-mail address for mail servers: the local part as typed, and the domain in its canonical form. */
export function mailboxOf(address: string): string {
  return splitAddress(address).local + splitAddress(canonicalAddress(address)).domain;
}

/** Returns a domain in ASCII and lower case. Returns undefined if a non-ASCII domain cannot be converted. */
export function domainInAscii(domain: string): string | undefined {
  if (isAscii(domain)) return lowerAscii(domain);
  // domainToASCII parses a domain like the host of a URL: it would decode %41 and stop at a slash. So a domain with
  // ASCII characters other than letters, digits, `.`, `_` and `-` is rejected here.
  if (/[^a-z0-9._-]/i.test(domain.replace(/\P{ASCII}/gu, ''))) return undefined;
  return domainToASCII(domain) || undefined;
}

/** Splits an e-mail address after its last @. */
export function splitAddress(address: string): { local: string; domain: string } {
  const end = address.lastIndexOf('@') + 1;
  return { local: address.slice(0, end), domain: address.slice(end) };
}

function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase());
}
