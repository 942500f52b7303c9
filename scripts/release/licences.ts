import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Component } from './sbom.ts';

/** Licences that allow everybody to use, change and sell the software if they keep the licence text. */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
]);

/**
 * Licences that are allowed for single packages. The packages of sharp contain libvips as a shared library. Everybody
 * can replace the library, as the LGPL demands.
 */
const exceptions: [name: RegExp, licence: string][] = [[/^@img\/sharp-/, 'LGPL-3.0-or-later']];

/** Returns a sentence for each component whose licence is missing or not allowed. */
export function refuseLicences(components: readonly Component[]): string[] {
  return components
    .filter(component => !isAllowed(component))
    .map(component => `${component['bom-ref']}: the licence "${licenceOf(component)}" is not allowed`);
}

/** Returns the SPDX expression of a component's licence. */
function licenceOf({ licenses = [] }: Component): string {
  const names = licenses.map(one =>
    'expression' in one ? one.expression : (one.license.id ?? one.license.name ?? ''),
  );
  return names.join(' AND ');
}

function isAllowed(component: Component): boolean {
  const isAllowedName = (licence: string) =>
    allowed.has(licence) || exceptions.some(([name, one]) => one === licence && name.test(component.name));
  const expression = licenceOf(component).replace(/^\((.*)\)$/, '$1');
  return expression.split(' OR ').some(part => part.split(' AND ').every(isAllowedName));
}

/**
 * Returns the licences of all components as Markdown: a table, and each licence text with the names of its packages.
 * The texts of packages for other platforms are missing, because npm does not install these packages.
 */
export function writeNotice(components: readonly Component[], modules: string): string {
  const packages = new Map<string, string[]>();
  for (const component of components) {
    for (const text of licenceTexts(join(modules, component.name))) {
      packages.set(text, [...(packages.get(text) ?? []), component['bom-ref']]);
    }
  }
  const rows = components.map(component => `| ${component['bom-ref']} | ${licenceOf(component)} |`);
  const texts = [...packages].map(([text, names]) => `## ${names.join(', ')}\n\n\`\`\`\`text\n${text}\n\`\`\`\`\n`);
  return ['# Licences of the dependencies', '', '| package | licence |', '|---|---|', ...rows, '', ...texts].join('\n');
}

function licenceTexts(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const files = readdirSync(directory).filter(name => /^(?:licen[cs]e|copying|notice)(?:[.-]|$)/i.test(name));
  return files.sort().map(name => readFileSync(join(directory, name), 'utf8').trim());
}
