import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { signedIn } from '../admin/visitor.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { finish, levelFields, Program } from './program.ts';

const suite = new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url);

/*
 * No check of the suite may fail. The suite skips only the checks that do not apply to this server.
 */
test('the server passes the conformance suite of the MCP project for OAuth authorization servers', async () => {
  const server = await startPublicServer();
  try {
    const world = await createWorld(server);
    const visitor = await signedIn(server, world.ownerId);
    const port = await freePort();
    const redirect = `http://127.0.0.1:${port}/callback`;
    const program = await Program.register(server, { redirect_uris: [redirect] });
    const run = spawn(process.execPath, [
      suite.pathname,
      'authorization',
      ...['--url', server.config.BASE_URL, '--client-id', program.clientId, '--resource', program.audience],
      ...['-p', String(port), '--spec-version', '2026-07-28'],
    ]);
    let output = '';
    const asked = new Promise<string>(resolve => {
      for (const stream of [run.stdout, run.stderr]) {
        stream.on('data', chunk => {
          output += chunk;
          const [url] = /^http\S*\/oauth\/authorize\?\S+$/m.exec(output) ?? [];
          if (url !== undefined) resolve(url);
        });
      }
    });
    const ended = once(run, 'close');
    const url = await Promise.race([asked, ended]);
    expect(url, output).toBeTypeOf('string');
    const { pathname, search } = new URL(String(url));
    const { location } = await visitor.get(pathname + search);
    const page = location ?? '';
    const fields = { ...levelFields({ [world.boardId]: 'read' }), decision: 'connect' };
    await fetch(await finish(visitor, await visitor.submit(page, page, fields)));
    const [status] = await ended;
    expect([status, output]).toEqual([0, expect.stringMatching(/0 failed/)]);
    expect(output).toMatch(/authorization-code-grant/);
  } finally {
    await server.close();
  }
});

/**
 * Returns a free port for the suite. The port is below the range of ports that the operating system assigns
 * automatically.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await Promise.race([
      once(probe, 'listening').then(() => true),
      once(probe, 'error').then(() => false),
    ]).catch(() => false);
    probe.close();
    if (isFree) return port;
  }
}
