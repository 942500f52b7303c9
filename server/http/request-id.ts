import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const saneId = /^[A-Za-z0-9._~-]{1,128}$/;

const ids = new WeakMap<IncomingMessage, string>();

/** The client's X-Request-Id when it is sane, so that its log and ours can be matched; else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const known = ids.get(request);
  if (known !== undefined) return known;
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && saneId.test(given) ? given : newRequestId();
  ids.set(request, id);
  return id;
}

export const newRequestId = (): string => randomUUID();
