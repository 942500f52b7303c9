import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { registryEntry } from '../../contract/registry-entry.ts';
import { useTools } from '../../contract/tools.ts';
import { serverInfo } from '../../server/mcp/introduction.ts';

const committed = readFileSync(new URL('../../contract/server.json', import.meta.url), 'utf8');

/**
 * The fields of a variable or a header in a registry entry, as version 2025-12-11 of the MCP registry's schema defines
 * them.
 */
const input = {
  description: z.string(),
  isRequired: z.boolean(),
  isSecret: z.boolean().optional(),
  placeholder: z.string(),
};

/**
 * The rules of the MCP registry for an entry: version 2025-12-11 of the registry's schema, and the registry's further
 * checks when somebody publishes an entry.
 */
const Entry = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]\/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/),
  title: z.string().trim().min(1).max(100),
  description: z.string().min(1).max(100),
  // The MCP registry refuses version ranges and the version `latest`.
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  remotes: z
    .array(
      z.strictObject({
        type: z.literal('streamable-http'),
        url: z.string(),
        variables: z.record(z.string(), z.strictObject(input)),
        headers: z.array(z.strictObject({ name: z.string(), ...input })),
      }),
    )
    .min(1),
});

test('the entry for the MCP registry obeys the rules of the registry', () => {
  expect(Entry.parse(JSON.parse(committed))).toEqual(registryEntry);
});

test('the committed server.json equals the generated entry byte for byte', () => {
  expect(committed).toBe(`${JSON.stringify(registryEntry, null, 2)}\n`);
});

test("if the host of a server is filled into the URL template in server.json, the result is the URL of the server's MCP endpoint", () => {
  for (const { url, variables } of Entry.parse(JSON.parse(committed)).remotes) {
    // The MCP registry refuses an entry if its URL contains a variable without a description, or does not begin with
    // https.
    expect([...url.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)).toEqual(Object.keys(variables));
    const filled = url.replace(/\{([^}]+)\}/g, (_, name: string) => variables[name]?.placeholder ?? '');
    expect(filled).toBe(`https://ideas.example.com${useTools.path}`);
  }
});

test('the entry for the MCP registry asks for an API token as an optional secret and contains no token', () => {
  const headers = Entry.parse(JSON.parse(committed)).remotes.flatMap(remote => remote.headers);
  expect(headers).toMatchObject([{ name: 'Authorization', isRequired: false, isSecret: true }]);
  expect(committed).not.toMatch(/ib_\d/);
});

test('the entry for the MCP registry has the version and the title that the server tells MCP clients', () => {
  expect(registryEntry).toMatchObject({ title: serverInfo.title, version: serverInfo.version });
});
