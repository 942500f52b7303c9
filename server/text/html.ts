/** Safe HTML markup: a template with escaped values. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[];

/** Builds markup from a template. Escapes all values except markup. Shows nothing for false and undefined. */
export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(parts.map((part, index) => part + (index < values.length ? render(values[index]) : '')).join(''));
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (value === false || value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return value.map(render).join('');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const special = /[&<>"']/;

/** Escapes a text for the content of an HTML element, or for an attribute in single or double quotation marks. */
export function escapeHtml(text: string): string {
  // Most texts of a page need no escaping, and replace() is slow even then.
  if (!special.test(text)) return text;
  return text.replace(/[&<>"']/g, character => entities[character] ?? '');
}
