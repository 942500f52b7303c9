import type { FastifyRequest } from 'fastify';
import { fixedMetadata } from './client-metadata.ts';

/**
 * The hook that leaves out of what a client is told of its registration what it did not register, and the hash of its
 * secret, which it is told once.
 */
export async function tidyRegistration(request: FastifyRequest, _reply: unknown, payload: unknown): Promise<unknown> {
  if (typeof payload !== 'object' || payload === null) return payload;
  const hidden = new Set([...Object.keys(fixedMetadata), ...(request.method === 'POST' ? [] : ['client_secret'])]);
  return Object.fromEntries(Object.entries(payload).filter(([name]) => !hidden.has(name)));
}
