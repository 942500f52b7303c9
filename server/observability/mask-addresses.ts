import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../domain/users/canonical-address.ts';

/** Returns 12 hexadecimal digits. Equal texts have equal digits, and the digits do not reveal the text. */
export type HashText = (text: string) => string;

export const cutOff = '[…]';

/** More than an ordinary line has. A hash takes as long as reading some hundred characters. */
export const maxAddresses = 20;

/** The `@` of an address: plain, in East Asian widths, and encoded by a URL (once or more), JSON or markup. */
const sign = String.raw`(?:[@\uff20\ufe6b]|%(?:25)*40|\\u0040|&(?:#64|#x40|commat);)`;
/** The characters that separate addresses from other text, plain and encoded by a URL. */
const separator = String.raw`\s\p{Cc}\p{Z}\p{Pi}\p{Pf}"(),:;<>@\uff20\ufe6b[\]\\/=?&#、。，；：（）「」`;
const encodedSeparator = '%(?:25)*(?:[01][0-9a-f]|2[023689cf]|3[a-f]|40|5[bcd]|7f)';
const quoted = String.raw`"(?:(?!${sign})(?:\\.|[^"\\\r\n])){1,64}"(?=${sign})`;
/** `name@1.2.3` is a package. */
const version = String.raw`\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[a-z]{1,10}(?:\.\d{1,4})?)?(?![\p{L}\p{N}_%-]|\.[\p{L}\p{N}])`;
const literal = String.raw`\[(?:ipv6:)?[0-9a-f:.]{2,64}\]`;
const domain = String.raw`(?:${literal}|(?:[\p{L}\p{M}\p{N}\p{Cf}._-]|(?!${encodedSeparator})%)*[\p{L}\p{M}\p{N}])`;
/** A masked address, or its domain. */
const masked = String.raw`(?:.\*{3}@)?.\*{3}(?:\.[\p{L}\p{N}-]{1,63})?#[0-9a-f]{12}`;

/**
 * Matches each word, with the domains or the mask after it. A match takes the whole word, so the time is linear. If there
 * are several signs, the last one separates the domain, and the others belong to the local part.
 */
const words = new RegExp(
  `${encodedSeparator}(?!${sign})|(${quoted}|${encodedSeparator}|(?:(?!${encodedSeparator})[^${separator}])+)((?:${sign}(?!${masked}|${version})${domain})+)?(?:${sign}${masked})?`,
  'giu',
);
const signs = new RegExp(sign, 'giu');
/** A list or markup may have these characters before an address, although an address may also begin with them. */
const opening = /^['`{|}*]+(?=.)/u;
/** Invisible characters inside an address would change its hash. */
const invisible = /\p{Cf}+/gu;

/**
 * Masks every e-mail address in a text as `j***@e***.com#3f9a0c1d2b4e` (Limits, operational rule 3): the first character
 * of the local part and of the domain, the last label, and the hash of the canonical address. Skips masked addresses.
 */
export function maskAddresses(text: string, hash: HashText): string {
  if (text.search(signs) < 0) return text;
  let result = '';
  let end = 0;
  let count = 0;
  for (const { 1: word = '', 2: domains, index } of text.matchAll(words)) {
    if (domains === undefined) continue;
    const start = index + (opening.exec(word)?.[0].length ?? 0);
    result += text.slice(end, start);
    if (++count > maxAddresses) return `${result} ${cutOff}`;
    end = index + word.length + domains.length;
    const parts = text
      .slice(start, end)
      .split(signs)
      .map(part => decodeUrl(part, 3).replace(invisible, ''));
    result += describe(parts.slice(0, -1).join('@'), parts.at(-1) ?? '', hash);
  }
  return result + text.slice(end);
}

function describe(local: string, domain: string, hash: HashText): string {
  const suffix = /\.[\p{L}\p{N}-]{1,63}$/u.exec(domain)?.[0] ?? '';
  return `${firstOf(local)}***@${firstOf(domain)}***${suffix}#${hash(canonicalAddress(`${local}@${domain}`))}`;
}

/** The first character if a mask may show it. Punctuation could be mistaken for the surrounding text. */
function firstOf(text: string): string {
  return /^"?([\p{L}\p{N}_])/u.exec(text)?.[1] ?? '*';
}

/** Decodes a text from a URL until it is plain, at most so many times. */
export function decodeUrl(text: string, times: number): string {
  if (times === 0 || !text.includes('%')) return text;
  try {
    return decodeUrl(decodeURIComponent(text), times - 1);
  } catch {
    // A percent sign stands for itself.
    return text;
  }
}

/**
 * Masks an IP address for the audit log: `203.0.113.0/24#3f9a0c1d2b4e`. The network is enough to find its owner and to
 * block it. The hash identifies the client. For IPv6 it is the hash of the /64, which the rate limits count as one client.
 */
export function maskIp(ip: string, hash: HashText): string {
  const [plain = ''] = ip.split('%', 1);
  // A trusted proxy may pass on a text that is no address.
  if (!ipaddr.isValid(plain)) return 'unknown';
  const address = ipaddr.process(plain);
  if (address.kind() === 'ipv4')
    return `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/24`)}/24#${hash(`${address}`)}`;
  const network = (bits: number) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`;
  return `${network(48)}#${hash(network(64))}`;
}
