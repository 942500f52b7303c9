import { z } from 'zod';

/**
 * Whether PostgreSQL can store a text. PostgreSQL stores neither NUL characters nor lone surrogates, which are halves
 * of characters.
 */
export const storable = (value: string) => value.isWellFormed() && !value.includes('\0');

const length = (value: string) => [...value].length;

/**
 * A schema for text of `min` to `max` code points after trimming. JSON Schema and PostgreSQL also count code points.
 * The schema converts vertical tabs and form feeds to line breaks.
 */
export function text(min: number, max: number) {
  return bounded(z.string().overwrite(onLines).trim(), min, max);
}

/** A schema for text on one line. The schema converts line breaks and tabs to spaces before trimming. */
export function line(min: number, max: number) {
  return bounded(z.string().overwrite(onOneLine).trim(), min, max);
}

/** A schema for text of 1 to `max` code points with a visible character. */
export function nonBlankText(max: number) {
  return bounded(nonBlank(z.string().overwrite(onLines).trim()), 1, max);
}

/** A schema for text on one line, of 1 to `max` code points with a visible character. */
export function nonBlankLine(max: number) {
  return bounded(nonBlank(z.string().overwrite(onOneLine).trim()), 1, max);
}

/** Refuses text that shows nothing, such as a text of zero-width spaces. */
function nonBlank(schema: z.ZodString) {
  const isVisible = (value: string) => /[^\s\p{Default_Ignorable_Code_Point}]/u.test(value);
  return schema.refine(isVisible, { error: 'Must not be empty', abort: true });
}

const onLines = (value: string) => withoutControl(value.replace(/[\v\f]/g, '\n'));

const onOneLine = (value: string) => withoutControl(value.replace(/\r\n|[\t\n\v\f\r\u0085\u2028\u2029]/g, ' '));

/**
 * Control characters except NUL, line breaks and tabs. Ordinary text does not need these characters. A terminal may
 * execute them, and JSON escapes most of them with six characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: withoutControl replaces these characters.
const control = /[\u0001-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f]/g;

/** Replaces each control character by U+FFFD, so that the text keeps its length and never becomes empty. */
const withoutControl = (value: string) => value.replace(control, '\ufffd');

function bounded(string: z.ZodString, min: number, max: number) {
  return string
    .refine(storable, { error: 'Contains a NUL character or a lone surrogate', abort: true })
    .refine(value => value.length >= min && length(value) >= min, {
      error: min === 1 ? 'Must not be empty' : `Must have at least ${min} characters`,
    })
    .refine(value => value.length <= max || length(value) <= max, { error: `Must have at most ${max} characters` })
    .meta({ openapi: { type: 'string', minLength: min, maxLength: max, ...(min > 0 ? { pattern: '\\S' } : {}) } });
}

/** A schema for an identifier such as a slug or a status key. The schema does not trim the identifier. */
export function word(max: number) {
  return z
    .string()
    .refine(storable, { error: 'Contains a NUL character or a lone surrogate', abort: true })
    .refine(value => length(value) <= max, { error: `Must have at most ${max} characters` })
    .meta({ openapi: { type: 'string', maxLength: max } });
}

/** A schema for a timestamp in a response, in the format of RFC 3339 in UTC. */
export const Timestamp = z
  .string()
  .meta({ openapi: { type: 'string', format: 'date-time' }, examples: ['2026-03-14T09:26:53.589Z'] });

/**
 * The years that a timestamp in a request may have. PostgreSQL and JavaScript write years with more or fewer than four
 * digits differently.
 */
const years = { first: 1970, last: 9999 };

const notATime = 'Must be a time with a time zone, such as 2026-03-14T09:26:53Z';

/** A schema for a timestamp in a request, in any notation of RFC 3339 except leap seconds. */
export const GivenTimestamp = z
  .string({ error: notATime })
  // RFC 3339 allows the letters T and Z in lower case.
  .toUpperCase()
  .check(z.iso.datetime({ offset: true, abort: true, error: notATime }))
  .refine(
    value => {
      const year = new Date(value).getUTCFullYear();
      return year >= years.first && year <= years.last;
    },
    { error: `Must be in the years ${years.first} to ${years.last}` },
  )
  .meta({
    openapi: { type: 'string', format: 'date-time' },
    examples: ['2026-03-14T09:26:53.589Z'],
  });

/**
 * A schema for response text that any user may have written. The mark `x-user-text` warns clients that use language
 * models.
 */
export const userText = z.string().meta({ 'x-user-text': true });
