import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gunzip, gzip, gzipSync } from 'node:zlib';
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
 * The hook that compresses the pages that caches may share. Other pages must stay uncompressed, because they contain a
 * form_token. If a compressed page repeats a part of its URL, its length can reveal the token (the attack BREACH). A
 * shared page contains no secret. Register this hook after answerConditionally, which makes the ETag of the
 * uncompressed page.
 */
export async function compressSharedPage(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
  const isShared = String(reply.getHeader('Cache-Control')).startsWith('public');
  if (!isShared || reply.hasHeader('Content-Encoding')) return payload;
  vary(reply);
  if (typeof payload !== 'string') return payload;
  const encoding = encodingOf(request);
  if (encoding === undefined) return payload;
  reply.header('Content-Encoding', encoding).removeHeader('Content-Length');
  return encoding === 'br' ? toBrotli(payload, { params: pageQuality }) : toGzip(payload);
}

const [toBrotli, toGzip] = [promisify(brotliCompress), promisify(gzip)];

/**
 * The Brotli quality for a text that is compressed again for each request. Higher qualities take several times as long.
 */
const pageQuality = { [constants.BROTLI_PARAM_QUALITY]: 4 };

/** Sends a text in the best encoding that the client accepts. A client without Accept-Encoding gets plain text. */
export async function sendCompressed(request: FastifyRequest, reply: FastifyReply, compressed: Compressed) {
  vary(reply);
  const encoding = encodingOf(request);
  if (encoding === undefined) return reply.send(await promisify(gunzip)(compressed.gzip));
  return reply.header('Content-Encoding', encoding).send(compressed[encoding]);
}

function vary(reply: FastifyReply) {
  const names = String(reply.getHeader('Vary') ?? '')
    .split(', ')
    .filter(Boolean);
  reply.header('Vary', [...new Set([...names, 'Accept-Encoding'])].join(', '));
}

/** Returns the best encoding that the client accepts, or undefined for plain text. */
function encodingOf(request: FastifyRequest): keyof Compressed | undefined {
  const accepted = request.headers['accept-encoding'] ?? 'identity';
  const encoding = negotiate(accepted, ['br', 'gzip', 'identity']);
  return encoding === 'br' || encoding === 'gzip' ? encoding : undefined;
}
