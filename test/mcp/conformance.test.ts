import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { startServer } from '../helpers/server.ts';
import { startBearerProxy } from './bearer-proxy.ts';

const suite = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

const scratch = await mkdtemp(join(tmpdir(), 'idea-board-conformance-'));
const proxy = await startBearerProxy();
const server = await startServer({ environment: { BASE_URL: proxy.origin } });
const { token } = await issueToken(server, await createWorld(server), 'read');
proxy.passTo(server.baseUrl, token);
afterAll(async () => {
  await proxy.close();
  await server.close();
  await rm(scratch, { recursive: true });
});

/**
 * Runs the conformance suite for an MCP protocol version. The run fails if the outcome of a check differs from its
 * expectation: an expected failure must fail, and every other check must succeed.
 */
function conform(revision: string): Promise<{ isConforming: boolean; output: string }> {
  const expected = fileURLToPath(new URL(`expected-failures.${revision}.yaml`, import.meta.url));
  const url = `${proxy.origin}/api/v1/mcp`;
  const options = ['--url', url, '--requirements', revision, '--expected-failures', expected];
  return new Promise(resolve => {
    execFile(
      process.execPath,
      [suite, 'server', ...options],
      { cwd: scratch, maxBuffer: 64 * 1024 * 1024 },
      (error, out) => resolve({ isConforming: error === null, output: out }),
    );
  });
}

test.concurrent.each(['2026-07-28', '2025-11-25'])(
  'the conformance suite of the MCP project for the protocol version %s reports exactly the failures that the repository lists as expected',
  { timeout: 120_000 },
  async revision => {
    const { isConforming, output } = await conform(revision);
    expect(isConforming, output.slice(output.indexOf('=== SUMMARY ==='))).toBe(true);
    expect(output).toContain('Baseline check passed');
  },
);
