import { domainToASCII } from 'node:url';

/** The longest path in SMTP (RFC 5321, section 4.5.3.1.3) without its angle brackets. */
export const maxAddressLength = 254;

/**
 * Returns the form that identifies an e-mail address: NFKC, with the domain in ASCII (IDNA) and ASCII letters in lower
 * case. Compare, count and hash addresses only in this form, and never compute it in SQL: PostgreSQL and JavaScript have
 * different case rules for other letters.
 *
 * Every text has a form that PostgreSQL can store. A text too long for an address stays as it is: expanding it costs time.
 */
export function canonicalAddress(text: string): string {
  const trimmed = text.trim().toWellFormed().replaceAll('\0', '\ufffd');
  if (trimmed.length > maxAddressLength) return trimmed;
  // Lower case may leave a letter before a mark that NFKC joins to it.
  const plain = lowerAscii(trimmed.normalize('NFKC')).normalize('NFKC');
  const { local, domain } = splitAddress(plain);
  return `${local}${(domainInAscii(domain) ?? domain).replace(/\.+$/, '')}`;
}

/** Returns the mailbox of an address for mail servers: the local part as it was typed, at the canonical domain. */
export function mailboxOf(address: string): string {
  return splitAddress(address).local + splitAddress(canonicalAddress(address)).domain;
}

/** Returns a domain in lower case and ASCII; undefined if it is not valid in DNS. */
export function domainInAscii(domain: string): string | undefined {
  if (isAscii(domain)) return lowerAscii(domain);
  // Node reads a domain as a URL's: it would decode %41, and stop at a slash.
  if (/[^a-z0-9._-]/i.test(domain.replace(/\P{ASCII}/gu, ''))) return undefined;
  return domainToASCII(domain) || undefined;
}

/** Splits an address after its last @. */
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
