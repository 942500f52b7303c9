import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config.ts';

/** Keeps outgoing requests to addresses of the public internet, and to those that are allowed by setting. */
export interface AddressGuard {
  isAllowed(address: string): boolean;
  /** For node's sockets: resolves a name to such addresses alone. */
  lookup: LookupFunction;
}

/** Resolves a name to all its addresses, as dns.lookup does. */
export type ResolveName = (
  hostname: string,
  options: { all: true; family?: number; hints?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** An address that may not be reached. */
class ForbiddenAddressError extends Error {
  override readonly name = 'ForbiddenAddressError';
  readonly code = 'ERR_FORBIDDEN_ADDRESS';
}

/**
 * A socket connects to what its lookup answered and nothing else, so a name that resolves differently the next time
 * is checked the next time: rebinding gains nothing.
 */
export function buildAddressGuard(
  allowed: Config['WEBHOOK_ALLOWED_CIDRS'],
  resolve: ResolveName = systemLookup,
): AddressGuard {
  const isAllowed = (address: string) => isPublic(address) || isListed(address, allowed);
  return {
    isAllowed,
    lookup(hostname, options, callback) {
      const given = {
        ...(options.hints === undefined ? {} : { hints: options.hints }),
        family: familyOf(options.family),
      };
      resolve(hostname, { ...given, all: true }, (error, addresses) => {
        if (error) return callback(error, []);
        const [first, ...others] = addresses.filter(({ address }) => isAllowed(address));
        if (!first) return callback(new ForbiddenAddressError(forbidden(hostname)), []);
        if (options.all) return callback(null, [first, ...others]);
        callback(null, first.address, first.family);
      });
    },
  };
}

/** Refuses a host that is written as an address, which a socket connects to without looking it up. */
export function checkHost(guard: AddressGuard, hostname: string): void {
  if (isForbiddenHost(guard, hostname)) throw new ForbiddenAddressError(forbidden(hostname));
}

/** Whether a host, as a URL has it, is an address that may not be reached. What a name stands for is seen later. */
function isForbiddenHost(guard: AddressGuard, hostname: string): boolean {
  // It never is another address (RFC 6761, section 6.3), and people try it.
  const addresses = hostname === 'localhost' ? ['127.0.0.1', '::1'] : [hostname.replace(/^\[(.*)\]$/, '$1')];
  return addresses.every(address => isIP(address) !== 0 && !guard.isAllowed(address));
}

/** Returns why a URL cannot be posted to; undefined if it can. Looks up no name. */
export function problemOfUrl(text: string, guard?: AddressGuard): string | undefined {
  const url = URL.parse(text);
  if (!url) return 'is not a URL';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (guard && isForbiddenHost(guard, url.hostname)) return 'must lead to an address of the public internet';
  return undefined;
}

function forbidden(hostname: string): string {
  return `${hostname} is not an address of the public internet`;
}

function familyOf(family: unknown): number {
  return family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : typeof family === 'number' ? family : 0;
}

/** What the internet gives out of IPv6; the rest is reserved, or a way to write an address of something else. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * Azure answers its virtual machines here, though the address counts as public. Other clouds have their metadata at
 * addresses that are not public, such as 169.254.169.254.
 */
const azurePlatform = '168.63.129.16';

function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || parsed.toString() === azurePlatform) return false;
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast);
}

function isListed(address: string, cidrs: Config['WEBHOOK_ALLOWED_CIDRS']): boolean {
  if (!ipaddr.isValid(address)) return false;
  // An IPv4 address in the form of IPv6 reaches the IPv4 one, so the lists for that hold.
  const parsed = ipaddr.process(address);
  return cidrs.some(cidr => cidr[0].kind() === parsed.kind() && parsed.match(cidr));
}
