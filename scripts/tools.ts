/** Generates the reference of the MCP tools in docs/mcp.md, and this server's entry for the MCP registry. */
import type { z } from 'zod';
import { adviceFor } from '../contract/advice.ts';
import { type ErrorKey, errorDetails, errors, keysIn } from '../contract/errors.ts';
import { buckets, maxBodyBytes } from '../contract/limits.ts';
import { registryEntry } from '../contract/registry-entry.ts';
import { useTools } from '../contract/tools.ts';
import { settings } from '../server/config.ts';
import { type Tool, tools as toolsByName } from '../server/mcp/tools.ts';
import { markdownTable, writeGenerated, writeGeneratedPart } from './generated-file.ts';

const tools = [...toolsByName.values()];

writeGenerated('contract/server.json', `${JSON.stringify(registryEntry, null, 2)}\n`, 'tools');
writeGeneratedPart('docs/mcp.md', [listTools(), listLimits(), listErrors()].join('\n'), 'tools');

function listTools(): string {
  const rows = tools.map(tool => [
    `\`${tool.metadata.tool.name}\``,
    tool.metadata.tool.title,
    neededBy(tool),
    countsAs(tool),
    tool.metadata.tool.isDestructive ? 'yes' : 'no',
    listArguments(tool),
  ]);
  return `## The tools

In this table, a \`?\` marks an optional argument. When an MCP client requests the list of tools, the server also returns
the type of each argument, and the meaning of most arguments.

${markdownTable(['tool', 'purpose', 'needed grant and capability', 'counts as', 'destructive', 'arguments'], rows)}`;
}

function neededBy({ metadata }: Tool): string {
  if (metadata.auth !== 'board') return 'any token';
  const { grant, capability } = metadata;
  return capability ? `\`${grant}\` and \`${capability}\`` : `\`${grant}\``;
}

function countsAs({ metadata }: Tool): string {
  if (metadata.auth !== 'board') return 'nothing';
  return metadata.bucket === 'apitoken:read' ? 'a read' : 'a write';
}

function listArguments({ definition, metadata }: Tool): string {
  const { properties = {}, required = [] } = definition.inputSchema;
  const needed = Object.entries((metadata.auth === 'board' && metadata.grantByQuery) || {});
  const names = Object.keys(properties).map(name => {
    const grants = needed.map(([key, one]) => {
      const [parameter, value] = key.split('=');
      const needing = value === undefined ? 'needs' : `\`${value}\` needs`;
      return parameter === name ? ` (${needing} \`${one}\`)` : '';
    });
    const grant = grants.join('');
    return `\`${name}\`${required.includes(name) ? '' : '?'}${grant}`;
  });
  return names.join(', ') || 'none';
}

function listLimits(): string {
  const read = buckets['apitoken:read'];
  const write = buckets['apitoken:write'];
  const { RATE_LIMIT_IP } = settings.shape;
  const rows = [
    ['reads with one token', `${read.limit} in ${spanOf(read.windowSeconds)}`, '`RATE_LIMIT_READ`'],
    ['writes with one token', `${write.limit} in ${spanOf(write.windowSeconds)}`, '`RATE_LIMIT_WRITE`'],
    ['all requests from one client IP address', `${RATE_LIMIT_IP.parse(undefined)} in a minute`, '`RATE_LIMIT_IP`'],
    ['size of an MCP message', `${maxBodyBytes / 1024} KiB`, 'none'],
  ];
  return `## Limits

Tool calls and REST requests with the same token share the rate limits of the token. A request for the list of tools
does not count against these limits. A token can have [rate limits of its own and allowed
networks](api.md#restrict-a-token).

${markdownTable(['limit', 'default', 'setting'], rows)}`;
}

function spanOf(seconds: number): string {
  if (seconds === 60) return 'a minute';
  if (seconds === 3600) return 'an hour';
  throw new Error(`No name for a window of ${seconds} seconds`);
}

function listErrors(): string {
  const raised = new Set(
    [...tools.map(({ route }) => route), useTools].flatMap(({ responses }) => Object.values(responses).flatMap(keysIn)),
  );
  const keys = (Object.keys(errors) as ErrorKey[]).filter(key => raised.has(key));
  const rows = keys.map(key => [`\`${key}\``, String(errors[key].status), adviceFor(key)]);
  return `## Errors

If a tool call fails, the agent gets an error key and advice from this table. If the result of a tool call has
\`isError\`, the HTTP status is 200 instead of the status in this table.

${markdownTable(['error key', 'HTTP status', 'advice to the agent'], rows)}
For some error keys, \`error.details\` has data that the agent needs for its next call. In the REST API, error
responses have the same \`details\`.

${markdownTable(['error key', 'fields of `details`', 'meaning'], listDetails(keys))}`;
}

function listDetails(keys: ErrorKey[]): string[][] {
  const all: Partial<Record<ErrorKey, z.ZodObject>> = errorDetails;
  return keys.flatMap(key => {
    const details = all[key];
    if (!details) return [];
    const fields = Object.keys(details.shape).map(name => `\`${name}\``);
    return [[`\`${key}\``, fields.join(', '), details.meta()?.description ?? '']];
  });
}
