import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, transform } from 'esbuild';
import { chromium } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { startGateway } from './gateway.ts';
import { compilingMs, createProject, type FreshProject } from './packed.ts';
import { findChromium, findRuntimes, findWorkerd } from './runtimes.ts';
import type { ScenarioWorld } from './scenario.ts';
import { startWorker } from './workerd.ts';

const run = promisify(execFile);
const scenario = readFileSync(new URL('scenario.ts', import.meta.url), 'utf8');
const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;

let server: TestServer;
let project: FreshProject;
/** The code of the scenario and the client in one file, for runtimes without imports. */
let bundle: string;
/** The URL of a web page whose origin differs from the origin of the server. */
let pageUrl: string;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const pages = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html>'),
  );
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  closing.push(async () => pages.close());
  pageUrl = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  server = await startServer({ environment: { CORS_ORIGINS: `https://app.example.com, ${pageUrl}` } });
  closing.push(() => server.close());

  project = await createProject('client');
  closing.push(project.remove);
  await project.write('scenario.js', (await transform(scenario, { loader: 'ts' })).code);
  await project.write(
    'main.js',
    `import * as sdk from '@idea-board/client';
    import { runScenario } from './scenario.js';
    console.log(JSON.stringify(await runScenario(sdk, JSON.parse(process.argv[2]))));`,
  );
  await project.write(
    'bundled.js',
    `import * as sdk from '@idea-board/client';
    import { runScenario } from './scenario.js';
    globalThis.runScenario = world => runScenario(sdk, world);`,
  );
  await project.write(
    'worker.js',
    `import * as sdk from '@idea-board/client';
    import { runScenario } from './scenario.js';
    const fetch = async request => Response.json(await runScenario(sdk, await request.json()));
    export default { fetch };`,
  );
  // With the platform "neutral", the build fails if the client imports a module that not every runtime has.
  const { outputFiles } = await build({
    entryPoints: [join(project.directory, 'bundled.js')],
    bundle: true,
    minify: true,
    platform: 'neutral',
    format: 'iife',
    write: false,
  });
  bundle = outputFiles[0]?.text ?? '';
}, compilingMs);

afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

/** Creates a separate board for each run, and a gateway that simulates two network faults. */
async function arrange(): Promise<{ world: ScenarioWorld; end(): Promise<void> }> {
  const world = await createWorld(server);
  for (const title of ['One', 'Two', 'Three']) await insertIdea(server, world, { title });
  const { token } = await issueToken(server, world, 'write');
  const gateway = await startGateway(server.baseUrl);
  const origin = { 'access-control-allow-origin': '*' };
  gateway.plan('pass', 'pass', 'pass', 'break off', 'pass', { status: 503, headers: origin, body: 'Away' });
  const body = JSON.stringify({
    type: 'idea.created',
    timestamp: '2026-03-14T09:26:53Z',
    data: { idea: { title: '☾' } },
  });
  const now = new Date();
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', now, body),
  };
  return { world: { baseUrl: gateway.url, token, webhook: { body, headers, secret } }, end: gateway.close };
}

const outcome = {
  titles: ['Three', 'Two', 'One'],
  refusal: { name: 'ApiError', key: 'not_found', status: 404, hasRequestId: true, bucket: 'apitoken:read' },
  created: { title: 'Ünïcödé ☾', attempts: 2, isReplay: true },
  tally: { score: 1, attempts: 2 },
  aborted: 'aborted',
  unreachable: 'connection_failed',
  event: '☾',
  tampered: 'signature_mismatch',
};

describe('the packed client', () => {
  test.concurrent.each(findRuntimes())(
    'the packed client package gives the expected results for all calls of a test scenario in the JavaScript runtime $name',
    async ({ command, args }) => {
      const { world, end } = await arrange();
      const { stdout } = await run(command, [...args, 'main.js', JSON.stringify(world)], { cwd: project.directory });
      await end();
      expect(JSON.parse(stdout)).toEqual(outcome);
    },
  );

  test.concurrent.each(findRuntimes().filter(({ name }) => name.startsWith('Node')))(
    'CommonJS code can load the packed client package with require() in the JavaScript runtime $name',
    async ({ command }) => {
      const code = `const { IdeaBoard, isIdeaBoardError } = require('@idea-board/client');
        new IdeaBoard({ baseUrl: 'http://127.0.0.1:1', token: 'ib_1_x', maxRetries: 0 }).board
          .get().catch(error => console.log(isIdeaBoardError(error), error.key));`;
      const { stdout } = await run(command, ['--input-type=commonjs', '--eval', code], { cwd: project.directory });
      expect(stdout).toBe('true connection_failed\n');
    },
  );

  const workerd = findWorkerd();
  if (workerd) {
    test.concurrent('the packed client package works in a worker of Cloudflare Workers', async () => {
      const { world, end } = await arrange();
      const worker = await startWorker(workerd, join(project.directory, 'worker.js'));
      const response = await fetch(worker.url, { method: 'POST', body: JSON.stringify(world) });
      const text = await response.text();
      await worker.close();
      await end();
      expect([response.status, text && JSON.parse(text)]).toEqual([200, outcome]);
    });
  }

  const executablePath = findChromium();
  if (executablePath) {
    test.concurrent('the packed client package works in a browser only on pages of an allowed origin', async () => {
      const { world, end } = await arrange();
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
      try {
        const page = await browser.newPage();
        await page.goto(pageUrl);
        await page.addScriptTag({ content: bundle });
        const scenarioIn = (given: ScenarioWorld) =>
          (globalThis as unknown as { runScenario(world: ScenarioWorld): Promise<unknown> }).runScenario(given);
        expect(await page.evaluate(scenarioIn, world)).toEqual(outcome);

        await page.goto(pageUrl.replace('127.0.0.1', 'localhost'));
        await page.addScriptTag({ content: bundle });
        await expect(page.evaluate(scenarioIn, { ...world, baseUrl: server.baseUrl })).rejects.toThrow(
          /cannot be reached/,
        );
      } finally {
        await browser.close();
        await end();
      }
    });
  }
});
