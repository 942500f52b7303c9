import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';

/**
 * What the provider fetches with: the document of a client that is known by its URL. It goes the way of webhooks, which
 * reaches no address inside the network and follows no redirect.
 */
export function fetchWith(outgoing: OutgoingRequests) {
  return async (url: string, { signal }: { signal?: AbortSignal }): Promise<Response> => {
    const { status, headers, body } = await outgoing.get(url, { headers: { accept: 'application/json' }, signal });
    // Whatever is not a document is none in the same way, and some statuses cannot have a body.
    if (status !== 200) return new Response(null, { status: 502 });
    const told = ['cache-control', 'expires'].flatMap(name => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    return new Response(new Uint8Array(body), { headers: told });
  };
}
