import { shortLine } from '../../text/plain-text.ts';

/** A name as a page shows it: on one line, and without characters that turn it into another one. */
export function shownName(name: string): string {
  return shortLine(name, 100, '(no name)');
}

/** A host to the end, with its port: whose it is is said there, and not where it begins. */
export function shownHost(host: string): string {
  return shortLine(host, 260, '(no host)');
}

/** An address in the same way: nearly every character may be in one. */
export function shownAddress(email: string): string {
  return shortLine(email, 254, '(no address)');
}
