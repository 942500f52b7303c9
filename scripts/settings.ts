/** Writes docs/settings.md from server/config.ts; with --check, only fails when the file is not up to date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { settings } from '../server/config.ts';

const file = new URL('../docs/settings.md', import.meta.url);

const rows = Object.entries(settings.shape).map(([name, schema]) => {
  const fallback = schema.safeParse(undefined);
  const value = fallback.success && fallback.data !== undefined ? display(fallback.data) : '';
  return `| \`${name}\` | ${value} | ${schema.description ?? ''} |`;
});

const text = `# Settings

Every setting is an environment variable. An unset variable and an empty one are the same; a wrong value keeps the
server from starting, and it says which one and why. Written by \`npm run settings\` from \`server/config.ts\`.

| variable | default | what it does |
|---|---|---|
${rows.join('\n')}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('docs/settings.md is not what server/config.ts says: run npm run settings and commit the result');
    process.exit(1);
  }
} else {
  writeFileSync(file, text);
}

function display(value: unknown): string {
  if (value === false || (Array.isArray(value) && value.every(one => one === ''))) return '';
  return `\`${String(value)}\``;
}
