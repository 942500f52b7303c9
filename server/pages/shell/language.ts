import type { FastifyInstance, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { type Language, languageOf, languages, type Reader, writeFor } from '../../text/language.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The reader of the page. At first, the reader has the language of the browser. If the user of the session has
     * chosen a language in the profile, this language replaces the language of the browser.
     */
    reader: Reader | null;
  }
}

/** Writes the pages of a plugin in the language of their readers. */
export function writeForReaders(app: FastifyInstance) {
  app.decorateRequest('reader', null);
  app.addHook('onRequest', (request, _reply, done) => writeForReaderOf(request, done));
  // Sets the reader again, because the body of a form arrives in another asynchronous context.
  app.addHook('preValidation', (request, _reply, done) => writeForReaderOf(request, done));
}

/**
 * Runs the function `work`, which writes texts for the reader of a page. Error handlers need this function, because an
 * error may occur before the hooks of writeForReaders() have run.
 */
export function writeForReaderOf<T>(request: FastifyRequest, work: () => T): T {
  request.reader ??= { language: languageOfBrowser(request) ?? languages[0] };
  return writeFor(request.reader, work);
}

/** Uses the language of the user's profile for the rest of the response, if the profile has one. */
export function useLanguageOfProfile({ reader }: FastifyRequest, code: string | null) {
  if (reader) reader.language = languageOf(code) ?? reader.language;
}

/**
 * Returns the language that the browser prefers among the languages of the server. Returns undefined if the browser
 * accepts none of these languages.
 */
export function languageOfBrowser(request: FastifyRequest): Language | undefined {
  const tags = new Negotiator(request).languages();
  return tags.map(tag => languageOf(tag.toLowerCase().split('-')[0])).find(language => language !== undefined);
}
