import { canonicalText, type Json } from './json.ts';

/** A subject as the beginning of a sentence. */
export function sentence(subject: string): string {
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)}`;
}

export function oneOf(values: readonly Json[]): string {
  return values.length === 1 ? textOfValue(values[0] ?? null) : `one of ${textOfValues(values)}`;
}

export function textOfValues(values: readonly Json[]): string {
  const shown = values.slice(0, 8).map(textOfValue).join(', ');
  return values.length > 8 ? `${shown} and ${values.length - 8} more` : shown;
}

/** A name from a document, which may hold anything, as one that no format takes for something else. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', "'").replace(/\s+/g, ' ')}\``;
}

/** Short enough for a sentence, and on one line. */
export function textOfValue(value: Json): string {
  const text = canonicalText(value);
  return quote(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}
