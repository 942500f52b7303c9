/** Writes the list of tools in docs/mcp.md from the contract; with --check, only fails when it is not up to date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { operations } from '../contract/index.ts';
import type { RouteMetadata } from '../contract/routes.ts';

const file = new URL('../docs/mcp.md', import.meta.url);
const list = /(<!-- Written by npm run tools from contract\/ -->\n)[\s\S]*(<!-- End of what is written -->\n)/;

const rows = Object.values(operations).flatMap(route => {
  const metadata = route.metadata as RouteMetadata;
  if (!('tool' in metadata)) return [];
  const { name, title } = metadata.tool;
  return `| \`${name}\` | ${title} | ${metadata.auth === 'board' ? `\`${metadata.grant}\`` : 'any token'} |\n`;
});

const text = readFileSync(file, 'utf8');
if (!list.test(text)) throw new Error('docs/mcp.md has no place for the list of tools');
const written = text.replace(list, `$1\n| tool | what it does | needs |\n|---|---|---|\n${rows.join('')}\n$2`);

if (process.argv.includes('--check')) {
  if (written !== text) {
    console.error('docs/mcp.md does not list the tools of the contract: run npm run tools and commit the result');
    process.exit(1);
  }
} else {
  writeFileSync(file, written);
}
