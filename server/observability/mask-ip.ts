import ipaddr from 'ipaddr.js';
import type { HashText } from './mask-addresses.ts';

/**
 * An IP address as the audit log has it: `203.0.113.0/24#3f9a0c1d2b4e`. The network is enough to look up whose it is and
 * to shut it out; the hash shows that the same client is back. Neither leads to one person without the application key.
 *
 * Of IPv6 the /48 is shown, and what is hashed is the /64, which is what the limits count as one client.
 */
export function maskIp(ip: string, hash: HashText): string {
  const [plain = ''] = ip.split('%', 1);
  // A proxy that is believed may pass on what is no address at all.
  if (!ipaddr.isValid(plain)) return 'unknown';
  const address = ipaddr.process(plain);
  const text = address.toString();
  return address.kind() === 'ipv4'
    ? `${networkOf(text, 24)}#${hash(text)}`
    : `${networkOf(text, 48)}#${hash(networkOf(text, 64))}`;
}

function networkOf(ip: string, prefixLength: number): string {
  const cidr = `${ip}/${prefixLength}`;
  const network = ipaddr.IPv4.isValidCIDR(cidr)
    ? ipaddr.IPv4.networkAddressFromCIDR(cidr)
    : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  return `${network.toString()}/${prefixLength}`;
}
