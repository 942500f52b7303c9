import { promisify } from 'node:util';
import { brotliCompressSync, constants, gunzip, gzip, gzipSync } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A text in the encodings that clients accept. */
export interface Compressed {
  br: Uint8Array;
  gzip: Uint8Array;
}

/**
 * Compresses a text once, because many clients get the same text. A higher quality of Brotli saves at most a tenth of
 * the bytes, but takes up to 70 times as long.
 */
export function compress(text: string): Compressed {
  return {
    br: brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
    gzip: gzipSync(text),
  };
}

/**
 * The hook that compresses the pages that caches may share, and the pages that a session opens with GET. Compresses with
 * gzip only. Brotli saves a twentieth of the bytes, but takes a quarter longer.
 *
 * If a compressed page repeats a part of its URL, the page's length can reveal a secret that the page always contains
 * (the attack BREACH). So each page masks the form_token differently. A new secret, such as an API token, is only in
 * the response to a form, which stays uncompressed. A secret in the page's own URL is safe, because an attacker cannot
 * open the page without the secret.
 *
 * Register this hook after answerConditionally, which makes the ETag of the uncompressed page.
 */
export async function compressPage(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
  const isShared = String(reply.getHeader('Cache-Control')).startsWith('public');
  const isOfSession = request.isPersonal && request.method !== 'POST';
  if (!(isShared || isOfSession) || reply.hasHeader('Content-Encoding')) return payload;
  vary(reply);
  if (typeof payload !== 'string') return payload;
  if (encodingOf(request, ['gzip']) === undefined) return payload;
  reply.header('Content-Encoding', 'gzip').removeHeader('Content-Length');
  return payload.length > longPage ? promisify(gzip)(payload, pageOptions) : gzipSync(payload, pageOptions);
}

/**
 * A page with at least this number of characters is compressed in another thread, so that the main thread can handle
 * other requests meanwhile. Passing a page to another thread takes about as long as compressing 20,000 characters.
 */
const longPage = 65_536;

/** The default level, 6, saves a fifteenth of the bytes, but takes twice as long. */
const pageOptions = { level: 3 };

/**
 * Sends a text in the best encoding that the client accepts. A client that sends no Accept-Encoding header gets
 * uncompressed text.
 */
export async function sendCompressed(request: FastifyRequest, reply: FastifyReply, compressed: Compressed) {
  vary(reply);
  const encoding = encodingOf(request, ['br', 'gzip']);
  if (encoding === undefined) return reply.send(await promisify(gunzip)(compressed.gzip));
  return reply.header('Content-Encoding', encoding).send(compressed[encoding]);
}

function vary(reply: FastifyReply) {
  const names = String(reply.getHeader('Vary') ?? '')
    .split(', ')
    .filter(Boolean);
  reply.header('Vary', [...new Set([...names, 'Accept-Encoding'])].join(', '));
}

/** Returns the best of the encodings that the client accepts, or undefined for uncompressed text. */
function encodingOf<Encoding extends keyof Compressed>(request: FastifyRequest, encodings: readonly Encoding[]) {
  const accepted = negotiate(request.headers['accept-encoding'] ?? 'identity', [...encodings, 'identity']);
  return encodings.find(encoding => encoding === accepted);
}
