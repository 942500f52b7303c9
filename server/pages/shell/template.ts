import { resolve } from 'node:path';
import { Eta } from 'eta';
import { t } from '../../text/catalogue.ts';
import { escapeHtml, Html } from '../../text/html.ts';

const views = resolve(import.meta.dirname, '../..');

/** Gives every template the function t, which returns a text of the catalogue. */
class Templates extends Eta {
  readonly t = t;
}

const eta = new Templates({
  views,
  cache: true,
  autoEscape: true,
  escapeFunction: show,
  functionHeader: 'const t = this.t;',
});

/**
 * The files of the templates by their paths in server/. A page of a board includes a hundred templates, and Eta needs
 * 4 µs to find a file.
 */
const files = new Map<string, string>();
const findFile = eta.resolvePath;
eta.resolvePath = name => {
  const file = files.get(name) ?? findFile.call(eta, name);
  files.set(name, file);
  return file;
};

/**
 * Compiles a template by its path in server/, without .eta. The server compiles all templates when it starts, so an
 * invalid template prevents the start.
 */
export function loadTemplate<Data extends object>(name: string): (data: Data) => Html {
  const filepath = eta.resolvePath(name);
  const template = eta.compile(eta.readFile(filepath), { filepath });
  return data => new Html(template.call(eta, data, { filepath }));
}

/**
 * Escapes a value. Does not escape the output of another template, because this output is already escaped. Returns an
 * empty text for false, null and undefined.
 */
function show(value: unknown): string {
  if (value instanceof Html) return value.text;
  if (value === false || value === null || value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  throw new TypeError(`A template shows text and numbers, not a value of the type ${typeof value}`);
}
