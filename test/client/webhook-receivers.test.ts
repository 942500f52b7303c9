import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signWebhook } from '../../client/main.ts';
import { compilingMs, createProject, type FreshProject, installFromRepository, repository } from './packed.ts';
import { findWorkerd } from './runtimes.ts';
import { startWorker } from './workerd.ts';

const run = promisify(execFile);
const secret = `whsec_${btoa('the secret of the webhook')}`;
const event = { type: 'webhook.test', timestamp: '2026-03-14T09:26:53Z', data: { endpoint_id: 3 } };

/** The code blocks of client/webhook-receivers.md, by the name after the language `ts`. */
const recipes = Object.fromEntries(
  [
    ...readFileSync(join(repository, 'client/webhook-receivers.md'), 'utf8').matchAll(
      /^```ts (\w+)\n([\s\S]*?)^```$/gm,
    ),
  ].map(([, name = '', text = '']) => [name, text]),
);

/** Sends three webhooks to each recipe: an authentic one, a changed one, and one while the secret is not set. */
const runner = `
import { signWebhook } from '@idea-board/client';
import { once } from 'node:events';
import { app as express } from './express.ts';
import { app as fastify } from './fastify.ts';
import { app as hono } from './hono.ts';
import { POST } from './next.ts';
import { sendTestEvent } from './test.ts';

console.log = console.error = () => {};
const { WEBHOOK_SECRET: secret } = process.env;
const signed = await signWebhook(${JSON.stringify(event)}, secret);
const asked = path => new Request('http://127.0.0.1' + path, { method: 'POST', ...signed });
const server = express.listen(0, '127.0.0.1');
await once(server, 'listening');
const expressUrl = 'http://127.0.0.1:' + server.address().port;
const fastifyUrl = await fastify.listen({ host: '127.0.0.1', port: 0 });
const receivers = {
  express: init => fetch(expressUrl + '/webhooks/ideas', init),
  fastify: init => fetch(fastifyUrl + '/webhooks/ideas', init),
  hono: init => hono.request('/webhooks/ideas', init),
  next: init => POST(new Request('http://127.0.0.1/webhooks/ideas', init)).catch(error => ({ status: error.key, text: () => '' })),
};
const answers = {};
for (const [name, send] of Object.entries(receivers)) {
  const ask = async body => {
    const response = await send({ method: 'POST', headers: signed.headers, body });
    return response.status + ' ' + (await response.text()).slice(0, 20);
  };
  process.env.WEBHOOK_SECRET = secret;
  answers[name] = [await ask(signed.body), await ask(signed.body + ' ')];
  delete process.env.WEBHOOK_SECRET;
  answers[name].push((await ask(signed.body)).slice(0, 21).split(' ')[0]);
}
process.env.WEBHOOK_SECRET = secret;
answers.test = await sendTestEvent(expressUrl + '/webhooks/ideas', secret);
process.stdout.write(JSON.stringify(answers));
process.exit();
`;

let project: FreshProject;

beforeAll(async () => {
  project = await createProject('client');
  await installFromRepository(project, 'express', 'fastify', 'hono', '@types/express', '@types/node', 'undici-types');
  for (const [name, text] of Object.entries(recipes)) await project.write(`${name}.ts`, text);
}, compilingMs);

afterAll(() => project.remove());

test('every recipe in client/webhook-receivers.md compiles in strict TypeScript', {
  timeout: compilingMs,
}, async () => {
  expect(Object.keys(recipes)).toEqual(['express', 'fastify', 'hono', 'next', 'worker', 'test']);
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
  const compilerOptions = { ...strict, target: 'es2022', module: 'nodenext', types: ['node'], skipLibCheck: true };
  const files = Object.keys(recipes).map(name => `${name}.ts`);
  await project.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
  const compiler = join(repository, 'node_modules/typescript/bin/tsc');
  const compiled = run(process.execPath, [compiler, '-p', '.', '--singleThreaded'], { cwd: project.directory });
  expect(await compiled.catch(({ stdout }) => stdout)).toMatchObject({ stdout: '' });
});

test('the recipes for Express, Fastify, Hono and Next.js accept an authentic webhook, refuse a changed one, and fail if no webhook secret is configured', async () => {
  await project.write('runner.js', runner);
  const { stdout } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'runner.js'], {
    cwd: project.directory,
    env: { PATH: process.env.PATH, WEBHOOK_SECRET: secret },
  });
  const answers = ['204 ', '400 signature_mismatch', '500'];
  expect(JSON.parse(stdout)).toEqual({
    express: answers,
    fastify: answers,
    hono: answers,
    next: [...answers.slice(0, 2), 'invalid_configuration'],
    test: 204,
  });
});

const workerd = findWorkerd();
if (workerd) {
  test('the recipe for Cloudflare Workers runs in workerd, accepts an authentic webhook, refuses a changed one, and fails if no webhook secret is configured', async () => {
    const start = (bindings = {}) => startWorker(workerd, join(project.directory, 'worker.ts'), bindings);
    const [worker, withoutSecret] = await Promise.all([start({ WEBHOOK_SECRET: secret }), start()]);
    const { headers, body } = await signWebhook(event, secret);
    const ask = async (url: string, text: string) => {
      const response = await fetch(url, { method: 'POST', headers, body: text });
      return `${response.status} ${await response.text()}`;
    };
    const answers = [
      await ask(`${worker.url}/webhooks/ideas`, body),
      await ask(`${worker.url}/webhooks/ideas`, `${body} `),
      await ask(`${worker.url}/`, body),
      await ask(`${withoutSecret.url}/webhooks/ideas`, body),
    ];
    await Promise.all([worker.close(), withoutSecret.close()]);
    expect(answers).toEqual(['204 ', '400 signature_mismatch', '404 ', '500 Internal Server Error']);
  });
}
