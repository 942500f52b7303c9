import type { FastifyReply } from 'fastify';
import type { Html } from '../../text/html.ts';

/** Characters that an XML document must not contain, not even escaped (XML 1.0, 2.2). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: sendXml removes these characters.
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

/** Sends an XML document that a template rendered. Templates escape values for XML as for HTML. */
export function sendXml(reply: FastifyReply, type: string, document: Html) {
  return reply.type(`${type}; charset=utf-8`).send(document.text.replace(forbidden, ''));
}
