import { canonicalText, type Json } from './json.ts';

/** Capitalizes the first letter of a subject, for the start of a sentence. */
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

/** Quotes a name from a document, so that no output format interprets its characters. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', "'").replace(/\s+/g, ' ')}\``;
}

/** Shortens a value to one line of text for a sentence. */
export function textOfValue(value: Json): string {
  const text = canonicalText(value);
  return quote(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}
