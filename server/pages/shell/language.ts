import type { FastifyInstance, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { languageOf, languages, type Reader, writeFor } from '../../text/language.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The reader of the page. The session changes the language to the one of the reader's profile. */
    reader: Reader | null;
  }
}

/** Writes the pages of a plugin in the language of their readers. */
export function writeForReaders(app: FastifyInstance) {
  app.decorateRequest('reader', null);
  app.addHook('onRequest', (request, _reply, done) => writeForReaderOf(request, done));
  // The body of a form arrives in another asynchronous context.
  app.addHook('preValidation', (request, _reply, done) => writeForReaderOf(request, done));
}

/** Runs work whose texts are for the reader of a page. Call it in error handlers, which may run without the hooks. */
export function writeForReaderOf<T>(request: FastifyRequest, work: () => T): T {
  request.reader ??= { language: preferredLanguage(request) };
  return writeFor(request.reader, work);
}

/** Returns the best language for the request's Accept-Language. */
function preferredLanguage(request: FastifyRequest) {
  const [language] = new Negotiator(request).languages([...languages]);
  return languageOf(language) ?? languages[0];
}
