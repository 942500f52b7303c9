/** Generates docs/settings.md from server/config.ts. */
import { settings } from '../server/config.ts';
import { markdownTable, writeGenerated } from './generated-file.ts';

const rows = Object.entries(settings.shape).map(([name, schema]) => {
  const fallback = schema.safeParse(undefined);
  const value = fallback.success && fallback.data !== undefined ? display(fallback.data) : '';
  return [`\`${name}\``, value, schema.description ?? ''];
});

const text = `# Settings

Every setting is an environment variable. An empty variable counts as unset. If a value is invalid, the server does
not start, and the error message names the setting and the reason. \`npm run settings\` writes this page from
\`server/config.ts\`.

${markdownTable(['variable', 'default', 'description'], rows)}`;

writeGenerated('docs/settings.md', text, 'settings');

function display(value: unknown): string {
  const isEmpty = typeof value === 'object' && Object.values(value ?? {}).every(one => one === '');
  if (value === false || isEmpty) return '';
  return `\`${String(value)}\``;
}
