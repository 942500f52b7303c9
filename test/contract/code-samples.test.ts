import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { repository } from '../client/packed.ts';

const run = promisify(execFile);

// biome-ignore lint/suspicious/noExplicitAny: the document is read as untyped JSON.
type Any = any;
const document: Any = JSON.parse(readFileSync(join(repository, 'contract/openapi.json'), 'utf8'));

/** The request that the examples in the OpenAPI document describe for one operation. */
interface ExampleRequest {
  line: string;
  authorization: string | undefined;
  body: unknown;
}

const operations = Object.entries<Any>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Any>(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const exampleRequests = operations.map(({ path, method, operation }): ExampleRequest => {
  const inPath = operation.parameters.filter((parameter: Any) => parameter.in === 'path');
  const filled = inPath.reduce((to: string, { name, example }: Any) => to.replace(`{${name}}`, example), path);
  return {
    line: `${method} ${filled}${operation.operationId === 'findSimilarIdeas' ? '?title=CSV+export+of+a+board' : ''}`,
    authorization: operation.security?.length === 0 ? undefined : 'Bearer ib_1_secret',
    body: operation.requestBody && firstExampleOf(operation.requestBody),
  };
});

function firstExampleOf({ content }: Any): unknown {
  const [{ $ref }] = Object.values<Any>(content['application/json'].examples) as [Any];
  return document.components.examples[$ref.split('/').at(-1)].value;
}

function sourcesIn(lang: string): string[] {
  return operations.map(
    ({ operation }) => operation['x-codeSamples'].find((sample: Any) => sample.lang === lang).source,
  );
}

const received: ExampleRequest[] = [];

const directory = await mkdtemp(join(tmpdir(), 'idea-board-samples-'));
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
  received.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization, body });
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ data: [], page: 1, per_page: 20, has_more: false, next_cursor: null }));
});
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const baseUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
const environment = { PATH: process.env.PATH, IDEA_BOARD_URL: baseUrl, IDEA_BOARD_TOKEN: 'ib_1_secret' };
afterAll(async () => {
  receiver.close();
  await rm(directory, { recursive: true });
});

test('each operation in the OpenAPI document has a sample in TypeScript and a sample for curl', () => {
  expect(operations).not.toEqual([]);
  for (const { operation } of operations) {
    expect(operation['x-codeSamples']).toEqual([
      { lang: 'TypeScript', label: 'TypeScript', source: expect.stringMatching(/\S/) },
      { lang: 'Shell', label: 'curl', source: expect.stringMatching(/^curl /) },
    ]);
  }
});

test('each TypeScript sample in the OpenAPI document compiles, and sends the example request of its operation', async () => {
  const client = JSON.stringify(join(repository, 'client/main.ts'));
  const files = await Promise.all(
    sourcesIn('TypeScript').map(async (source, index) => {
      const file = join(directory, `${index}.mts`);
      await writeFile(file, `${source.replace("'@idea-board/client'", client)}\nexport {};\n`);
      return file;
    }),
  );
  const compilerOptions = { typeRoots: [join(repository, 'node_modules/@types')], noUnusedLocals: false };
  const project = { extends: join(repository, 'tsconfig.json'), compilerOptions, include: ['*.mts'] };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(project));
  const { stdout } = await run(join(repository, 'node_modules/.bin/tsc'), ['-p', directory]).catch(error => error);
  expect(stdout).toBe('');

  received.length = 0;
  const program = files.map(file => `await import(${JSON.stringify(file)});`).join('\n');
  await run(process.execPath, ['--input-type=module', '-e', program], { env: environment });
  // Removes `per_page`, because the SDK asks for the longest pages of a list, but the examples do not.
  const sent = received.map(one => ({ ...one, line: one.line.replace('?per_page=100', '') }));
  // The SDK sends the token with every request, even with requests to the health probes.
  expect(sent).toEqual(exampleRequests.map(one => ({ ...one, authorization: 'Bearer ib_1_secret' })));
});

test('each TypeScript sample in the OpenAPI document uses the SDK, except the sample for MCP', () => {
  const sources = sourcesIn('TypeScript');
  const withoutSdk = operations.filter((_, index) => !sources[index]?.includes("from '@idea-board/client'"));
  expect(withoutSdk.map(({ path }) => path)).toEqual(['/api/v1/mcp']);
});

test('each curl sample in the OpenAPI document sends the example request of its operation', async () => {
  received.length = 0;
  await run('sh', ['-e', '-c', sourcesIn('Shell').join('\n')], { env: environment });
  expect(received).toEqual(exampleRequests);
});
