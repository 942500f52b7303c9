/** Writes docs/settings.md from server/config.ts. */
import { settings } from '../server/config.ts';
import { writeGenerated } from './generated-file.ts';

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

writeGenerated('docs/settings.md', text, 'settings');

function display(value: unknown): string {
  if (value === false || (Array.isArray(value) && value.every(one => one === ''))) return '';
  return `\`${String(value)}\``;
}
