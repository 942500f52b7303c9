/** Markup that is safe to send: what a template's author wrote, with everything that was put in escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[];

/** A template whose values are escaped, unless they are such templates; false and undefined show nothing. */
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

/** For text and for attributes in quotation marks of either kind. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] ?? '');
}
