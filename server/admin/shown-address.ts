import { shortLine } from '../events/plain-text.ts';

/** The longest that is taken: whoever compares what they see with their address sees all of it. */
const maxLength = 254;

/** An e-mail address as a page shows it: without characters that turn it into another one. */
export function shownAddress(address: string): string {
  return shortLine(address, maxLength, '(no address)');
}
