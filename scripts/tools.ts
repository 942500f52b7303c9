/** Generates the list of tools in docs/mcp.md from the contract. */
import { operations } from '../contract/index.ts';
import type { RouteMetadata } from '../contract/routes.ts';
import { writeGeneratedPart } from './generated-file.ts';

const rows = Object.values(operations).flatMap(route => {
  const metadata = route.metadata as RouteMetadata;
  if (!('tool' in metadata)) return [];
  const { name, title } = metadata.tool;
  return `| \`${name}\` | ${title} | ${metadata.auth === 'board' ? `\`${metadata.grant}\`` : 'any token'} |\n`;
});

writeGeneratedPart(
  'docs/mcp.md',
  `| tool | operation | needed grant level |\n|---|---|---|\n${rows.join('')}`,
  'tools',
);
