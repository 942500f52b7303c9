import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config.ts';

/** Allows outgoing requests only to public IP addresses and to IP addresses that a setting allows. */
export interface AddressGuard {
  isAllowed(address: string): boolean;
  /** The DNS lookup for Node's sockets. It resolves a host name only to IP addresses that are allowed. */
  lookup: LookupFunction;
}

/** Resolves a host name to all its IP addresses, like dns.lookup with the option `all`. */
export type ResolveName = (
  hostname: string,
  options: { all: true; family?: number; hints?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The error code for a request to a forbidden IP address. */
export const forbiddenAddress = 'ERR_FORBIDDEN_ADDRESS';

/** Builds the guard. Sockets connect only to IP addresses from its lookup, so DNS rebinding cannot bypass the guard. */
export function buildAddressGuard(
  allowed: Config['WEBHOOK_ALLOWED_CIDRS'],
  resolve: ResolveName = systemLookup,
): AddressGuard {
  const isAllowed = (address: string) => isPublic(address) || isListed(address, allowed);
  return {
    isAllowed,
    lookup(hostname, options, callback) {
      const hints = options.hints === undefined ? {} : { hints: options.hints };
      resolve(hostname, { ...hints, family: familyOf(options.family), all: true }, (error, addresses) => {
        if (error) return callback(error, []);
        const allowedAddresses = addresses.filter(({ address }) => isAllowed(address));
        const [first] = allowedAddresses;
        if (!first) {
          const refusal = new Error(`${hostname} is not on the public internet`);
          return callback(Object.assign(refusal, { code: forbiddenAddress }), []);
        }
        if (options.all) return callback(null, allowedAddresses);
        callback(null, first.address, first.family);
      });
    },
  };
}

/**
 * Whether a URL's host is a forbidden IP address, or localhost if loopback addresses are forbidden. The lookup checks
 * the other host names.
 */
export function isForbiddenHost(guard: AddressGuard, hostname: string): boolean {
  // People often enter localhost. The host name needs no lookup, because it is always a loopback address (RFC 6761,
  // section 6.3).
  const addresses = hostname === 'localhost' ? ['127.0.0.1', '::1'] : [hostname.replace(/^\[(.*)\]$/, '$1')];
  return addresses.every(address => isIP(address) !== 0 && !guard.isAllowed(address));
}

/**
 * The reasons why the server cannot send to a URL. The catalogue of translated messages has a text for each reason, and
 * the text's key contains the reason.
 */
export type UrlProblem = 'malformed' | 'scheme' | 'credentials' | 'private';

/** Returns the reason why the server cannot send to a URL, if any. Does not look up host names. */
export function problemOfUrl(text: string, guard?: AddressGuard): UrlProblem | undefined {
  const url = URL.parse(text);
  if (!url) return 'malformed';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'scheme';
  if (url.username !== '' || url.password !== '') return 'credentials';
  if (guard && isForbiddenHost(guard, url.hostname)) return 'private';
  return undefined;
}

function familyOf(family: unknown): number {
  return family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : typeof family === 'number' ? family : 0;
}

/** The range of all public IPv6 addresses. isPublic() excludes the special addresses in this range. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * The public IP address of Azure's service for its virtual machines. It is forbidden because it serves metadata. Other
 * clouds serve metadata at private IP addresses such as 169.254.169.254.
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
  // Converts an IPv4-mapped IPv6 address to the IPv4 address that it reaches, so that the CIDRs of IPv4 apply.
  const parsed = ipaddr.process(address);
  return cidrs.some(cidr => cidr[0].kind() === parsed.kind() && parsed.match(cidr));
}
