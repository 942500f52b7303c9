import type { FastifyInstance, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { type Language, languageOf, languages, type Reader, writeFor } from '../../text/language.ts';

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
  request.reader ??= { language: languageOfBrowser(request) ?? languages[0] };
  return writeFor(request.reader, work);
}

/** Writes the rest of the response in the language of the user's profile, if the profile has one. */
export function useLanguageOfProfile({ reader }: FastifyRequest, code: string | null) {
  if (reader) reader.language = languageOf(code) ?? reader.language;
}

/**
 * Returns the language that the browser prefers among the languages of the server. Undefined if the browser names none
 * of these languages.
 */
export function languageOfBrowser(request: FastifyRequest): Language | undefined {
  const tags = new Negotiator(request).languages();
  return tags.map(tag => languageOf(tag.toLowerCase().split('-')[0])).find(language => language !== undefined);
}
