import ipaddr from 'ipaddr.js';
import { canonicalAddress } from '../domain/users/canonical-address.ts';

/**
 * Returns 12 hexadecimal digits. Under the same key, a text always has the same hash, and the hash does not reveal the
 * text.
 */
export type HashText = (text: string) => string;

export const cutOff = '[…]';

/** The maximum number of masked e-mail addresses in a text. An ordinary line has fewer, and each hash takes time. */
export const maxAddresses = 20;

/** The full-width and the small `@` in URL encoding, without the first `%`. */
const encodedWideSign = 'ef%(?:25)*(?:bc%(?:25)*a0|b9%(?:25)*ab)';
/**
 * The `@` of an e-mail address in any notation: plain, East Asian full-width or small, URL-encoded once or more, in
 * JSON or in HTML.
 */
const sign = String.raw`(?:[@\uff20\ufe6b]|%(?:25)*(?:40|${encodedWideSign})|\\u0040|&(?:#64|#x40|commat);)`;
/**
 * Characters that separate e-mail addresses from other text. `encodedSeparator` matches the same characters in URL
 * encoding.
 */
const separator = String.raw`\s\p{Cc}\p{Z}\p{Pi}\p{Pf}"(),:;<>@\uff20\ufe6b[\]\\/=?&#、。，；：（）「」`;
const encodedSeparator = `%(?:25)*(?:[01][0-9a-f]|2[023689cf]|3[a-f]|40|5[bcd]|7f|${encodedWideSign})`;
const quoted = String.raw`"(?:(?!${sign})(?:\\.|[^"\\\r\n])){1,64}"(?=${sign})`;
/** Matches the version in a text such as `name@1.2.3`, because such a text names a package and not a person. */
const version = String.raw`\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[a-z]{1,10}(?:\.\d{1,4})?)?(?![\p{L}\p{N}_%-]|\.[\p{L}\p{N}])`;
const literal = String.raw`\[(?:ipv6:)?[0-9a-f:.]{2,64}\]`;
const domain = String.raw`(?:${literal}|(?:[\p{L}\p{M}\p{N}\p{Cf}._-]|(?!${encodedSeparator})%)*[\p{L}\p{M}\p{N}])`;
/** An e-mail address that is already masked, or the masked domain of an e-mail address. */
const masked = String.raw`(?:.\*{3}@)?.\*{3}(?:\.[\p{L}\p{N}-]{1,63})?#[0-9a-f]{12}`;

/**
 * Matches each word, together with the domains or the mask after it. A match always takes the whole word, so that the
 * search time grows only linearly with the length of the text. If a word has several `@`, the domain starts after the
 * last one, and the others belong to the local part.
 */
const words = new RegExp(
  `${encodedSeparator}(?!${sign})|(${quoted}|${encodedSeparator}|(?:(?!${encodedSeparator})[^${separator}])+)((?:${sign}(?!${masked}|${version})${domain})+)?(?:${sign}${masked})?`,
  'giu',
);
const signs = new RegExp(sign, 'giu');
/**
 * Characters that a list or markup may put before an e-mail address. They are valid at the start of an e-mail address,
 * but the mask treats them as markup.
 */
const opening = /^['`{|}*]+(?=.)/u;
/** Invisible characters. They are removed from an e-mail address, because they would change its hash. */
const invisible = /\p{Cf}+/gu;

/**
 * Masks the e-mail addresses in a text, for example as `j***@e***.com#3f9a0c1d2b4e` (specification: Limits, operational
 * rule 3). Cuts off the text after the first maxAddresses addresses. The mask has the first character of the local part
 * and of the domain, the top-level domain, and the hash of the canonical address. Addresses that are already masked
 * stay unchanged.
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

/**
 * Returns the first character of a local part or domain, if it is a letter, a digit or an underscore. Other characters
 * could look like a part of the surrounding text.
 */
function firstOf(text: string): string {
  return /^"?([\p{L}\p{N}_])/u.exec(text)?.[1] ?? '*';
}

/** Decodes URL-encoded text repeatedly until no encoded characters are left, but at most `times` times. */
export function decodeUrl(text: string, times: number): string {
  if (times === 0 || !text.includes('%')) return text;
  try {
    return decodeUrl(decodeURIComponent(text), times - 1);
  } catch {
    // A percent sign in the text encodes nothing, so the text is not URL-encoded.
    return text;
  }
}

/**
 * Masks an IP address for the audit log, for example as `203.0.113.0/24#3f9a0c1d2b4e`. The mask shows the network, so
 * an operator can block the network or find its owner. The hash identifies the client. For IPv6 the hash covers the /64
 * network, because the rate limits count a /64 as one client.
 */
export function maskIp(ip: string, hash: HashText): string {
  const address = parseIp(ip);
  if (!address) return 'unknown';
  const client = address.kind() === 'ipv4' ? `${address}` : networkWith(address, 64);
  return `${maskedNetwork(address)}#${hash(client)}`;
}

/**
 * Returns the network of a client: /24 of IPv4 or /48 of IPv6. The network shows where a request came from, but not the
 * complete IP address. Returns null for text that is not an IP address.
 */
export function maskedNetworkOf(ip: string): string | null {
  const address = parseIp(ip);
  return address ? maskedNetwork(address) : null;
}

type Address = ReturnType<typeof ipaddr.process>;

function parseIp(ip: string): Address | undefined {
  const [plain = ''] = ip.split('%', 1);
  // A trusted proxy may forward text that is not an IP address.
  return ipaddr.isValid(plain) ? ipaddr.process(plain) : undefined;
}

function maskedNetwork(address: Address): string {
  return networkWith(address, address.kind() === 'ipv4' ? 24 : 48);
}

function networkWith(address: Address, bits: number): string {
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${kind.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`;
}
