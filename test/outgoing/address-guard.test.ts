import type { LookupAddress } from 'node:dns';
import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../server/config.ts';
import { buildAddressGuard, problemOfUrl, type ResolveName } from '../../server/outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../server/outgoing/outgoing-request.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';

const cidrs = (text: string) => loadConfig({ WEBHOOK_ALLOWED_CIDRS: text }).WEBHOOK_ALLOWED_CIDRS;
const none = cidrs('');

describe('the address guard', () => {
  const forbidden: [string, string][] = [
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['unspecified', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['carrier-grade NAT', '100.127.255.255'],
    ['link-local', '169.254.1.1'],
    ['cloud metadata', '169.254.169.254'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['6to4 relay', '192.88.99.1'],
    ['benchmarking', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.250'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped in hexadecimal', '::ffff:7f00:1'],
    ['IPv4-mapped metadata', '::ffff:169.254.169.254'],
    ['IPv4-mapped public', '::ffff:8.8.8.8'],
    ['IPv4-translated', '::ffff:0:127.0.0.1'],
    ['NAT64', '64:ff9b::127.0.0.1'],
    ['NAT64', '64:ff9b::a9fe:a9fe'],
    ['local NAT64', '64:ff9b:1::1'],
    ['discard', '100::1'],
    ['teredo', '2001::1'],
    ['benchmarking', '2001:2::1'],
    ['ORCHID', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['6to4', '2002:7f00:1::1'],
    ['6to4', '2002:a9fe:a9fe::1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fd12:3456::1'],
    ['cloud metadata', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['segment routing', '5f00::1'],
    ['unassigned', '4000::1'],
    ['a host name', 'localhost'],
    ['an empty text', ''],
  ];
  test.each(forbidden)(
    'the address guard forbids outgoing requests to an address of the kind "%s": %s',
    (_name, address) => {
      expect(buildAddressGuard(none).isAllowed(address)).toBe(false);
    },
  );

  test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2001:4860:4860::8888', '2a00:1450:4001:80b::200e'])(
    'the address guard allows outgoing requests to the public IP address %s',
    address => {
      expect(buildAddressGuard(none).isAllowed(address)).toBe(true);
    },
  );

  test('the address guard allows IP addresses in WEBHOOK_ALLOWED_CIDRS, also in IPv4-mapped notation, but no other private IP address', () => {
    const guard = buildAddressGuard(cidrs('10.1.0.0/16, 192.168.7.7,fd00:1::/32'));
    for (const address of ['10.1.255.1', '::ffff:10.1.0.1', '192.168.7.7', 'fd00:1::5']) {
      expect(guard.isAllowed(address), address).toBe(true);
    }
    for (const address of ['10.2.0.1', '192.168.7.8', 'fd00:2::5', '127.0.0.1', '64:ff9b::10.1.0.1']) {
      expect(guard.isAllowed(address), address).toBe(false);
    }
  });

  test('a server rejects invalid CIDRs in the setting WEBHOOK_ALLOWED_CIDRS', () => {
    for (const text of ['10.0.0.0/33', 'example.com', '10.0.0.0/8;::1/128']) {
      expect(() => cidrs(text), text).toThrow(ConfigError);
    }
  });
});

/** At these IP addresses, cloud providers offer metadata, credentials and agents to virtual machines. */
const cloudAddresses: [cloud: string, address: string][] = [
  ['Azure, AWS, Google, Oracle, DigitalOcean, Hetzner and OpenStack', '169.254.169.254'],
  ['Azure', '168.63.129.16'],
  ['AWS, containers of ECS', '169.254.170.2'],
  ['AWS, pods of EKS', '169.254.170.23'],
  ['AWS, time', '169.254.169.123'],
  ['AWS, over IPv6', 'fd00:ec2::254'],
  ['AWS, pods of EKS over IPv6', 'fd00:ec2::23'],
  ['Google, over IPv6', 'fd20:ce::254'],
  ['Oracle', '192.0.0.192'],
  ['Oracle, over IPv6', 'fd00:c1::a9fe:a9fe'],
  ['OpenStack, over IPv6', 'fe80::a9fe:a9fe'],
  ['Alibaba', '100.100.100.200'],
  ['Tencent', '169.254.0.23'],
  ['Scaleway', '169.254.42.42'],
  ['Scaleway, over IPv6', 'fd00:42::42'],
];

/**
 * Returns the notations of an IP address: the address itself and, for IPv4, the IPv6 addresses that a network may
 * translate to it.
 */
function notationsOf(address: string): string[] {
  if (address.includes(':')) return [address];
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const hexadecimal = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  return [
    address,
    `::${address}`,
    `::ffff:${address}`,
    `::ffff:${hexadecimal}`,
    `::ffff:0:${address}`,
    `64:ff9b::${address}`,
    `64:ff9b::${hexadecimal}`,
    `64:ff9b:1::${hexadecimal}`,
    `2002:${hexadecimal}::1`,
  ];
}

describe('cloud metadata addresses', () => {
  const notations = cloudAddresses.flatMap(([cloud, address]) =>
    notationsOf(address).map(notation => [notation, cloud] as const),
  );
  test.each(notations)(
    'outgoing requests cannot reach the cloud metadata address %s (cloud: %s), neither by its URL nor by a host name',
    async (address, _cloud) => {
      const resolve: ResolveName = (_hostname, _options, callback) =>
        callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
      const guard = buildAddressGuard(none, resolve);
      expect(guard.isAllowed(address)).toBe(false);
      const host = address.includes(':') ? `[${address}]` : address;
      expect(problemOfUrl(`http://${host}/latest/meta-data`, guard)).toBe('private');
      const requests = buildOutgoingRequests({ guard });
      for (const url of [`http://${host}/latest/meta-data`, 'http://metadata.example.com/']) {
        await expect(requests.post(url, { headers: {}, body: '{}' })).rejects.toThrow('The address is not allowed');
      }
      requests.close();
    },
  );

  test.each(cloudAddresses)(
    'if WEBHOOK_ALLOWED_CIDRS contains only the cloud metadata address of the cloud %s (%s), the address guard allows no other cloud metadata address',
    (_cloud, address) => {
      const guard = buildAddressGuard(cidrs(address));
      expect(guard.isAllowed(address)).toBe(true);
      for (const [, other] of cloudAddresses) if (other !== address) expect(guard.isAllowed(other), other).toBe(false);
    },
  );

  test('the address guard allows the public IP addresses next to the cloud metadata address of Azure', () => {
    const guard = buildAddressGuard(none);
    for (const address of ['168.63.129.15', '168.63.129.17']) expect(guard.isAllowed(address), address).toBe(true);
  });
});

describe('a connection of an outgoing request', () => {
  /**
   * Returns a DNS resolver. The resolver answers the first query with the first list of addresses, the second query
   * with the second list, and so on. For all further queries, the resolver repeats the last list.
   */
  function answers(...lists: string[][]): ResolveName {
    let asked = 0;
    return (_hostname, _options, callback) => {
      const list = lists[Math.min(asked++, lists.length - 1)] ?? [];
      const addresses: LookupAddress[] = list.map(address => ({ address, family: address.includes(':') ? 6 : 4 }));
      queueMicrotask(() => callback(null, addresses));
    };
  }
  const post = (url: string, allowed: string, resolve?: ResolveName) => {
    const requests = buildOutgoingRequests({ guard: buildAddressGuard(cidrs(allowed), resolve), timeoutMs: 2_000 });
    return requests.post(url, { headers: {}, body: '{}' }).finally(() => requests.close());
  };
  const refusal = 'The address is not allowed';

  test('an outgoing request to a host name connects only to the allowed IP addresses of the host', async () => {
    const receiver = await startReceiverForTest();
    const { port } = new URL(receiver.url);
    const url = `http://hooks.example.com:${port}/`;
    await expect(post(url, '', answers(['127.0.0.1']))).rejects.toThrow(refusal);
    await expect(post(url, '', answers(['10.0.0.1', '::1', '127.0.0.1']))).rejects.toThrow(refusal);
    await expect(post(url, '', answers([]))).rejects.toThrow(refusal);
    expect(receiver.received).toEqual([]);
    const answer = await post(url, '127.0.0.1', answers(['10.0.0.1', '::1', '127.0.0.1']));
    expect(answer.status).toBe(204);
    expect(receiver.received[0]?.headers.host).toBe(`hooks.example.com:${port}`);
  });

  test('the server checks the IP address of every new outgoing connection, so an attacker cannot use DNS rebinding to reach a forbidden address', async () => {
    const receiver = await startReceiverForTest(response => {
      response.writeHead(204, { connection: 'close' }).end();
    });
    const { port } = new URL(receiver.url);
    const resolve = answers(['127.0.0.1'], ['127.0.0.2']);
    const guard = buildAddressGuard(cidrs('127.0.0.1'), resolve);
    const requests = buildOutgoingRequests({ guard });
    const url = `http://rebinding.example.com:${port}/`;
    const send = () => requests.post(url, { headers: {}, body: '{}' });
    expect((await send()).status).toBe(204);
    await expect(send()).rejects.toThrow(refusal);
    expect(receiver.received).toHaveLength(1);
    requests.close();
  });

  test.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://0x7f.1',
    'http://2130706433',
    'http://017700000001',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[64:ff9b::7f00:1]',
    'http://①②⑦.0.0.1',
    'http://localhost',
    'http://169.254.169.254',
  ])('an outgoing request to the internal URL %s is rejected before it is sent', async base => {
    const receiver = await startReceiverForTest();
    await expect(post(`${base}:${new URL(receiver.url).port}/latest/meta-data`, '')).rejects.toThrow(refusal);
    expect(receiver.received).toEqual([]);
  });
});
