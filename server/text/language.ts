import { AsyncLocalStorage } from 'node:async_hooks';

/** The languages of pages and mails. The first one is the default, and the language of the command line and of the API. */
export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];

/** The name of each language in the language itself. */
export const languageNames: Record<Language, string> = { en: 'English', de: 'Deutsch' };

/** The person who reads the texts that the server writes at the moment. */
export interface Reader {
  language: Language;
}

const currentReader = new AsyncLocalStorage<Reader>();

/** Dates and numbers in English are in the British style. */
const locales: Record<Language, string> = { en: 'en-GB', de: 'de-DE' };

export function currentLanguage(): Language {
  return currentReader.getStore()?.language ?? languages[0];
}

/** Returns the current reader's locale for dates, numbers and lists. */
export function currentLocale(): string {
  return locales[currentLanguage()];
}

/**
 * Runs the function `work`, which writes texts for this reader. If the language of the reader changes while `work`
 * runs, later texts are in the new language.
 */
export function writeFor<T>(reader: Reader, work: () => T): T {
  return currentReader.run(reader, work);
}

/**
 * Runs the function `work`, which writes texts for the database, logs or programs. These texts are in the default
 * language.
 */
export function writeForRecords<T>(work: () => T): T {
  return writeFor({ language: languages[0] }, work);
}

/**
 * Creates a formatter for each language. The returned function returns the formatter in the language of the current
 * reader.
 */
export function forEachLanguage<Formatter>(make: (locale: string) => Formatter): () => Formatter {
  const made = new Map(languages.map(language => [language, make(locales[language])]));
  return () => made.get(currentLanguage()) as Formatter;
}

/**
 * Returns a reader for the first of these language codes that the server supports. If the server supports none of the
 * codes, the reader has the default language.
 */
export function readerOf(...codes: readonly (string | null | undefined)[]): Reader {
  return { language: codes.map(languageOf).find(language => language !== undefined) ?? languages[0] };
}

/** Returns the language with this code. Returns undefined if the server has no texts in this language. */
export function languageOf(code: string | null | undefined): Language | undefined {
  return languages.find(language => language === code);
}
