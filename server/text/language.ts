import { AsyncLocalStorage } from 'node:async_hooks';

/** The languages of pages and mails. The first one is the default, and the language of the command line and of the API. */
export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];

/** The name of each language in the language itself. */
export const languageNames: Record<Language, string> = { en: 'English', de: 'Deutsch' };

/** The reader of the texts that the server writes now. */
export interface Reader {
  language: Language;
}

const currentReader = new AsyncLocalStorage<Reader>();

/** Dates and numbers in English are in the British style. */
const locales: Record<Language, string> = { en: 'en-GB', de: 'de-DE' };

export function currentLanguage(): Language {
  return currentReader.getStore()?.language ?? languages[0];
}

/** Returns the locale for dates, numbers and lists of the current reader. */
export function currentLocale(): string {
  return locales[currentLanguage()];
}

/** Runs work whose texts are for this reader. A later change of the reader's language counts from then on. */
export function writeFor<T>(reader: Reader, work: () => T): T {
  return currentReader.run(reader, work);
}

/** Runs work whose texts are for the database, logs or programs. These texts are in the default language. */
export function writeForRecords<T>(work: () => T): T {
  return writeFor({ language: languages[0] }, work);
}

/** Makes a formatter for each language. The returned function returns the formatter for the current reader. */
export function forEachLanguage<Formatter>(make: (locale: string) => Formatter): () => Formatter {
  const made = new Map(languages.map(language => [language, make(locales[language])]));
  return () => made.get(currentLanguage()) as Formatter;
}

/** Returns the reader for the first of these codes that is the code of a language. The default is the first language. */
export function readerOf(...codes: readonly (string | null | undefined)[]): Reader {
  return { language: codes.map(languageOf).find(language => language !== undefined) ?? languages[0] };
}

/** Returns the language with this code. Undefined for other texts, so that the caller can use another language. */
export function languageOf(code: string | null | undefined): Language | undefined {
  return languages.find(language => language === code);
}
