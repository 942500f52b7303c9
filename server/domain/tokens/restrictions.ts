import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { maxNetworksOfToken } from '../../../contract/limits.ts';
import type { Config } from '../../config.ts';
import { t } from '../../text/catalogue.ts';
import { AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

/**
 * A token's own rate limits and its allowed networks. A null limit means the server's limit. An empty list means every
 * network.
 */
export interface Restrictions {
  readLimit: number | null;
  writeLimit: number | null;
  /** CIDRs such as 203.0.113.0/24. */
  allowedNetworks: string[];
}

/**
 * Checks the restrictions of a token, and returns them with normalized networks. A token's own limit can only be lower
 * than the server's limit, because the operator chose the server's limit to protect the server.
 */
export function checkRestrictions(
  { readLimit, writeLimit, allowedNetworks }: Restrictions,
  { RATE_LIMIT_READ, RATE_LIMIT_WRITE }: Pick<Config, 'RATE_LIMIT_READ' | 'RATE_LIMIT_WRITE'>,
): Restrictions {
  checkLimit(readLimit, RATE_LIMIT_READ, 'refusals.token.read_limit');
  checkLimit(writeLimit, RATE_LIMIT_WRITE, 'refusals.token.write_limit');
  const networks = [...new Set(allowedNetworks.map(readNetwork))];
  if (networks.length > maxNetworksOfToken) {
    throw new AdministrationError('invalid', t('refusals.token.too_many_networks', { max: maxNetworksOfToken }));
  }
  return { readLimit, writeLimit, allowedNetworks: networks };
}

function checkLimit(
  limit: number | null,
  max: number,
  problem: 'refusals.token.read_limit' | 'refusals.token.write_limit',
) {
  if (limit === null || (Number.isInteger(limit) && limit >= 1 && limit <= max)) return;
  throw new AdministrationError('invalid', t(problem, { max }));
}

/** The number of bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const mappedBits = 96;

/**
 * Returns the normal form of a network. A single IP address also counts as a network. An IPv4-mapped IPv6 network
 * becomes the IPv4 network, because the server also converts the IPv4-mapped addresses of clients to IPv4.
 */
function readNetwork(text: string): string {
  const [plain = '', length, ...rest] = text.trim().split('/');
  const maxBits = isIPv4(plain) ? 32 : isIPv6(plain) && !plain.includes('%') ? 128 : -1;
  const bits = length === undefined ? maxBits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  if (bits < 0 || bits > maxBits || rest.length > 0) throw invalidNetwork(text);
  const given = ipaddr.parse(plain);
  const address = bits >= mappedBits ? ipaddr.process(plain) : given;
  const prefix = address.kind() === given.kind() ? bits : bits - mappedBits;
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = `${address}/${prefix}`;
  // Refuses an ambiguous network. 203.0.113.7/24 may mean the network 203.0.113.0/24 or the address 203.0.113.7.
  if (kind.networkAddressFromCIDR(network).toString() !== address.toString()) throw invalidNetwork(text);
  return network;
}

function invalidNetwork(text: string) {
  return new AdministrationError('invalid', t('refusals.token.network', { network: quote(text.trim()) }));
}
