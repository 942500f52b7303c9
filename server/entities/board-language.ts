/**
 * The languages that a board can have, with their language codes. Each name is a text search configuration that every
 * supported PostgreSQL has. `simple` is for boards with several languages, and does not reduce words to their stems.
 */
export const languageCodes = {
  simple: null,
  arabic: 'ar',
  armenian: 'hy',
  basque: 'eu',
  catalan: 'ca',
  danish: 'da',
  dutch: 'nl',
  english: 'en',
  finnish: 'fi',
  french: 'fr',
  german: 'de',
  greek: 'el',
  hindi: 'hi',
  hungarian: 'hu',
  indonesian: 'id',
  irish: 'ga',
  italian: 'it',
  lithuanian: 'lt',
  nepali: 'ne',
  norwegian: 'no',
  portuguese: 'pt',
  romanian: 'ro',
  russian: 'ru',
  serbian: 'sr',
  spanish: 'es',
  swedish: 'sv',
  tamil: 'ta',
  turkish: 'tr',
  yiddish: 'yi',
} as const;
export type BoardLanguage = keyof typeof languageCodes;

export const boardLanguages = Object.keys(languageCodes) as BoardLanguage[];
