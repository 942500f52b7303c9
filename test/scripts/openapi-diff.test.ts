import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Change, compareDocuments, parseDocument } from '../../scripts/openapi-diff/main.ts';
import { changesOf, documentWith, done, type Json, type JsonObject, object, received, ref } from './openapi-pair.ts';

const program = fileURLToPath(new URL('../../scripts/openapi-diff/cli.ts', import.meta.url));
const contract = await readFile(new URL('../../contract/openapi.json', import.meta.url), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: the document is edited as untyped JSON.
type Document = any;

/** Returns the changes that openapi-diff finds between the contract of the API and an edited copy of it. */
function changesAfter(edit: (document: Document) => void): Change[] {
  const copy = JSON.parse(contract) as Document;
  edit(copy);
  return compareDocuments(parseDocument('base', contract), parseDocument('head', JSON.stringify(copy))).changes;
}

test('openapi-diff finds no change between the OpenAPI document of the server and an identical copy', () => {
  expect(changesAfter(() => {})).toEqual([]);
});

test('openapi-diff reports the removal of an error key as a breaking change of the operation that could return the error', () => {
  const changes = changesAfter(({ components: { schemas } }) => {
    const { key } = schemas.CreateIdeaError423.properties.error.properties;
    key.enum = key.enum.filter((one: string) => one !== 'submissions_closed');
  });
  const message = 'The error key `"submissions_closed"` is gone.';
  const places = [{ operation: 'POST /api/v1/ideas', where: 'response 423' }];
  expect(changes).toMatchObject([{ level: 'breaking', rule: 'error-key-removed', message, places }]);
});

test('openapi-diff reports a change only once if two alternatives of a schema contain the same changed place', () => {
  const alternative = (kind: string) => object({ 'kind!': { const: kind }, x: ref('X') });
  const schema = { oneOf: [alternative('a'), alternative('b')] };
  const schemas = (type: string) => ({ X: object({ y: { type } }) });
  const pair = received(schema, schema, { base: schemas('string'), head: schemas('integer') });
  expect(changesOf(pair)).toMatchObject([{ rule: 'response-type-widened', places: [{ field: 'x.y' }] }]);
});

/** Runs openapi-diff in a separate process, with `cwd` as the working directory. */
async function run(cwd: string, parameters: string[], input = '') {
  const child = spawn(process.execPath, [program, ...parameters], { cwd });
  child.stdin.end(input);
  const exit = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { exitCode, stdout, stderr };
}

/**
 * Starts a server on loopback. Requests need the header `Authorization: Bearer secret`. The response is the value of
 * `write` as JSON. Returns the server's origin, and stops the server after the test.
 */
async function serve(write: (path: string | undefined) => unknown): Promise<string> {
  const server = createServer(({ headers, url }, response) => {
    response.statusCode = headers.authorization === 'Bearer secret' ? 200 : 401;
    response.end(JSON.stringify(write(url)));
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const get = { get: { responses: done } };

describe('the command openapi-diff', () => {
  let cwd: string;
  const [one, two] = [documentWith({ paths: { '/a': get } }), documentWith({ paths: { '/a': get, '/b': get } })];

  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'openapi-diff-'));
    await writeFile(join(cwd, 'one.json'), JSON.stringify(one));
    await writeFile(join(cwd, 'two.json'), JSON.stringify(two));
    return () => rm(cwd, { recursive: true, force: true });
  });

  test('openapi-diff exits with status 1 for a breaking change, also in a document from standard input, but with status 0 if --fail-on is none', async () => {
    const [broken, forgiven] = await Promise.all([
      run(cwd, ['two.json', '-', '--format', 'json'], JSON.stringify(one)),
      run(cwd, ['two.json', 'one.json', '--fail-on', 'none']),
    ]);
    expect(broken).toMatchObject({ exitCode: 1, stderr: '' });
    expect(JSON.parse(broken.stdout)).toMatchObject({ head: 'standard input', counts: { breaking: 1 } });
    expect(forgiven).toMatchObject({ exitCode: 0, stderr: '' });
    expect(forgiven.stdout).toContain('breaking  path-removed');
  });

  test('openapi-diff can compare a document in git with a document at a URL that needs a header, and prints no secrets from URLs', async () => {
    const git = (...parameters: string[]) =>
      promisify(execFile)('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...parameters], { cwd });
    await git('init', '--quiet');
    await git('add', 'one.json');
    await git('commit', '--quiet', '--message', 'One');
    const url = `${await serve(() => two)}/api.json?token=secret`;
    const [revision, missing] = await Promise.all([
      run(cwd, ['HEAD:one.json', url, '--header', 'Authorization: Bearer secret']),
      run(cwd, ['git:HEAD', 'git:HEAD:one.json']),
    ]);
    expect(revision).toMatchObject({ exitCode: 0, stderr: '' });
    expect(revision.stdout).toMatch(/^HEAD:one\.json -> http:\/\/127\.0\.0\.1:\d+\/api\.json\n1 additive\n/);
    expect(missing).toMatchObject({ exitCode: 2, stdout: '' });
    expect(missing.stderr).toMatch(/^error: git:HEAD cannot be read from git: .*contract\/openapi\.json.*\n$/);
  });

  test('openapi-diff can read the usage document from a URL that needs a header, and exits with status 1 if a client uses a removed path', async () => {
    const origin = await serve(path => ({
      uses: [{ client: 'Sync', operation: `GET ${path}`, last_used_at: '2026-11-23T10:00:00Z' }],
    }));
    const judge = (path: string, secret: string) => {
      const header = `Authorization: Bearer ${secret}`;
      return run(cwd, ['two.json', 'one.json', '--usage', `${origin}${path}`, '--header', header]);
    };
    const [used, unused, refused] = await Promise.all([
      judge('/b', 'secret'),
      judge('/a', 'secret'),
      judge('/b', 'other'),
    ]);
    expect(used).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('Used by `Sync`, last on 2026-11-23.') });
    expect(unused).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('No client has used this.') });
    expect(refused).toMatchObject({ exitCode: 2, stderr: `error: ${origin}/b answers 401 Unauthorized\n` });
  });

  test('openapi-diff can write several formats in one run, and exits with status 0 if all breaking changes are accepted', async () => {
    const accepted = '- rule: path-removed\n  at: "#/paths/~1b"\n  reason: Nobody calls it.\n';
    await writeFile(join(cwd, 'accept.yaml'), `${accepted}- rule: path-removed\n  at: "#/c"\n  reason: Gone.\n`);
    const several = ['--format', 'text', '--format', 'junit=report.xml', '--format', 'json=report.json'];
    const accepting = ['two.json', 'one.json', '--accept', 'accept.yaml', ...several];
    const { exitCode, stdout, stderr } = await run(cwd, accepting);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      '1 accepted\n\nbreaking  path-removed\n  The path `/b` is gone. Accepted: Nobody calls it.\n',
    );
    expect(stderr).toBe('warning: accept.yaml accepts path-removed at #/c, which did not change\n');
    expect(await readFile(join(cwd, 'report.xml'), 'utf8')).toContain('<skipped message="Nobody calls it."/>');
    const report = JSON.parse(await readFile(join(cwd, 'report.json'), 'utf8'));
    expect(report).toMatchObject({ accepted: 1, counts: { breaking: 0 } });
  });

  test('openapi-diff exits with status 2 and a one-line error for invalid arguments or documents', async () => {
    await writeFile(join(cwd, 'api.yaml'), 'openapi: [3.1.0\n');
    const refused = ['one.json none.json', 'one.json api.yaml', 'one.json', 'one.json two.json --format yaml'];
    const refusals = await Promise.all(refused.map(parameters => run(cwd, parameters.split(' '))));
    for (const { exitCode, stdout, stderr } of refusals) {
      expect({ exitCode, stdout }, stderr).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toMatch(/^error: [^\n]+\n$/);
    }
    expect(refusals.map(({ stderr }) => stderr).join('')).toMatch(
      /none\.json cannot be read: there is no such file[\s\S]*api\.yaml is neither JSON nor YAML/,
    );
  });
});

test('the script openapi-release refuses a release if the version increase is too small for the changes of the API', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-release-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const program = fileURLToPath(new URL('../../scripts/openapi-release.ts', import.meta.url));
  const [released, current] = [join(directory, 'released.json'), join(directory, 'current.json')];
  const write = (file: string, version: string, paths: JsonObject) =>
    writeFile(file, JSON.stringify(documentWith({ info: { title: 'Small', version }, paths })));
  const release = () => promisify(execFile)(process.execPath, [program, released, current]);
  await write(released, '1.0.0', {});
  await write(current, '1.0.1', { '/a': get });
  const stderr = 'the version is 1.0.1 after 1.0.0: these changes need a new minor version\n';
  await expect(release()).rejects.toMatchObject({ code: 1, stderr });
  expect(await readFile(released, 'utf8')).toContain('"paths":{}');
  await write(current, '1.1.0', { '/a': get });
  await release();
  expect(await readFile(released, 'utf8')).toBe(await readFile(current, 'utf8'));
});

const withSchema = (schema: Json) => received(schema, schema).base;
test.each<[string, unknown, RegExp]>([
  [
    'an OpenAPI 4.0 document',
    { openapi: '4.0.0', paths: {} },
    /^x is OpenAPI 4\.0\.0: only 3\.0, 3\.1 and 3\.2 are supported$/,
  ],
  ['a Swagger 2.0 document', { swagger: '2.0' }, /^x is not an OpenAPI 3 document: it is Swagger 2\.0$/],
  ['an object without a version', { name: 'x' }, /^x is not an OpenAPI 3 document: it has no "openapi" field$/],
  ['a JSON array', [], /^x is not an OpenAPI document: it is not an object$/],
  ['a document without any content', { openapi: '3.1.0' }, /has neither paths nor webhooks nor components$/],
  ['a reference to a missing schema', withSchema({ $ref: '#/A' }), /^x: the \$ref #\/A at #\/paths\/.* leads nowhere$/],
  ['a reference to an inherited property', withSchema({ $ref: '#/paths/constructor' }), /leads nowhere$/],
  ['a reference to a missing anchor', withSchema({ $ref: '#name' }), /leads to no anchor$/],
  ['a reference to another file', withSchema({ $ref: 'a.json#/A' }), /leads out of the document: bundle it/],
  ['a JSON array in place of a schema', withSchema([]), /^x: there is no schema at #\/paths\/.*\/schema$/],
])('openapi-diff rejects a document of this kind: %s', (_, value, message) => {
  const head = parseDocument('y', JSON.stringify(withSchema({ type: 'string' })));
  expect(() => compareDocuments(parseDocument('x', JSON.stringify(value)), head)).toThrow(message);
});
