import { promisify } from 'node:util';
import { brotliCompressSync, constants, gunzip, gzipSync } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A text in the encodings that clients accept. */
export interface Compressed {
  br: Uint8Array;
  gzip: Uint8Array;
}

/**
 * Compresses a text that many clients get, once instead of for each request. A higher quality of Brotli saves at most a
 * tenth of the bytes, but takes up to 70 times as long.
 */
export function compress(text: string): Compressed {
  return {
    br: brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
    gzip: gzipSync(text),
  };
}

/** Sends a text in the best encoding that the client accepts. A client without Accept-Encoding gets plain text. */
export async function sendCompressed(request: FastifyRequest, reply: FastifyReply, compressed: Compressed) {
  reply.header('Vary', [reply.getHeader('Vary'), 'Accept-Encoding'].filter(Boolean).join(', '));
  const accepted = request.headers['accept-encoding'] ?? 'identity';
  const encoding = negotiate(accepted, ['br', 'gzip', 'identity']) as keyof Compressed | 'identity' | null;
  if (encoding !== 'br' && encoding !== 'gzip') return reply.send(await promisify(gunzip)(compressed.gzip));
  return reply.header('Content-Encoding', encoding).send(compressed[encoding]);
}
