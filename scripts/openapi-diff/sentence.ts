import { canonicalText, type Json } from './json.ts';

/** Capitalizes the first letter of a text, so that the text can begin a sentence. */
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

/** Quotes a name from a document as code, so that no output format interprets the characters of the name. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', "'").replace(/\s+/g, ' ')}\``;
}

/** Writes a value as one line of text for a sentence. Shortens a long text. */
export function textOfValue(value: Json): string {
  const text = canonicalText(value);
  return quote(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}
