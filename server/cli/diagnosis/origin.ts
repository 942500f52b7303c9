import { isIP } from 'node:net';
import type { Config } from '../../config.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Checks BASE_URL and TRUST_PROXY. Sends a request to BASE_URL, as a client would. */
export async function diagnoseOrigin(config: Config): Promise<Finding[]> {
  return [...diagnoseProxy(config), ...(await diagnoseBaseUrl(config))];
}

async function diagnoseBaseUrl({ NODE_ENV, BASE_URL, isBaseUrlSet }: Config): Promise<Finding[]> {
  if (!isBaseUrlSet) {
    if (NODE_ENV !== 'production') return [];
    return [warning(`BASE_URL is unset, so links in mails lead to ${BASE_URL}`, 'Set BASE_URL to the public origin')];
  }
  const { protocol, hostname } = new URL(BASE_URL);
  const isOpen = protocol === 'http:' && !isLoopback(hostname);
  return [
    ...(isOpen
      ? [
          warning(
            'BASE_URL begins with http://, so anybody on the network can read tokens and passwords',
            'Let the proxy serve HTTPS, and set BASE_URL to https://',
          ),
        ]
      : []),
    await requestHealth(BASE_URL),
  ];
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}

/** A proxy answers within this time, even if it waits for a server that restarts. */
const answerTimeoutMs = 5000;

async function requestHealth(baseUrl: string): Promise<Finding> {
  const url = `${baseUrl}/health`;
  const remedy =
    'Check BASE_URL, DNS, the certificate and the proxy. Ignore this warning if only this machine cannot reach the URL';
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (response.ok && (body as { ok?: boolean } | undefined)?.ok) return ok(`The server answers at ${baseUrl}`);
    return warning(
      `${url} answers ${response.status}, and not as Idea-Board does`,
      'Let the proxy pass all requests to the servers',
    );
  } catch (failure) {
    const { cause, message } = failure as Error;
    return warning(`${url} does not answer: ${cause instanceof Error ? cause.message : message}`, remedy);
  }
}

function diagnoseProxy({ NODE_ENV, BASE_URL, TRUST_PROXY }: Config): Finding[] {
  if (TRUST_PROXY === true) {
    return [
      warning(
        'With TRUST_PROXY=true, clients that reach the server directly can choose their IP address',
        'Set TRUST_PROXY to the IP addresses of the proxy',
      ),
    ];
  }
  // The server speaks plain HTTP, so an origin with https needs a proxy.
  if (TRUST_PROXY !== false || NODE_ENV !== 'production' || !BASE_URL.startsWith('https:')) return [];
  return [
    warning(
      'TRUST_PROXY is unset, so all clients behind the proxy share the rate limits of one IP address',
      'Set TRUST_PROXY to the IP addresses of the proxy',
    ),
  ];
}
