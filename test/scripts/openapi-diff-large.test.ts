import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { documentWith, type JsonObject, json, object, ref } from './openapi-pair.ts';

/**
 * The number of schemas. With SCHEMAS=1038, the documents are as large as those of the largest public APIs, 3.4 MB.
 */
const count = Number(process.env.SCHEMAS ?? 346);
/**
 * The limits are proportional to the size, so they also fail if the work or the memory grows faster than the size. The
 * work is the number of times that the program runs its blocks of code. Unlike CPU time, the work is the same on each
 * machine. The memory is the heap: with a smaller heap, Node would abort the program. A busy machine collects garbage
 * later, so the memory of the whole process would vary.
 */
const limits = { blocks: count * 80_000, megabytes: 40 + Math.ceil(count * 0.25) };

const run = promisify(execFile);
const program = fileURLToPath(new URL('../../scripts/openapi-diff/cli.ts', import.meta.url));

test(`openapi-diff compares two large documents with changes in all ${count} schemas with a heap of ${limits.megabytes} MB, and runs at most ${limits.blocks / 1e6} million blocks of code`, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-diff-large-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [name, isNew] of Object.entries({ 'base.json': false, 'head.json': true })) {
    const text = largeDocument(isNew);
    expect(text.length).toBeGreaterThan(count * 3_275);
    await writeFile(join(directory, name), text);
  }
  const coverage = join(directory, 'coverage');
  const heap = ['--max-semi-space-size=4', `--max-old-space-size=${limits.megabytes}`];
  const args = [...heap, program, 'base.json', 'head.json', '--fail-on', 'none'];
  const env = { ...process.env, NODE_V8_COVERAGE: coverage };
  const options = { cwd: directory, maxBuffer: 64 * 1024 * 1024, env };
  const { stdout } = await run(process.execPath, args, options);
  const changed = stdout.matchAll(/^ {2}head #\/components\/schemas\/(schema_\d+)/gm).map(([, one]) => one);
  expect(new Set(changed).size).toBe(count);
  const blocks = await blocksRun(coverage);
  expect(blocks).toBeGreaterThan(count * 1_000);
  expect(blocks).toBeLessThan(limits.blocks);
});

/** Returns the number of times that a program ran the blocks of its own files, from the coverage files of V8. */
async function blocksRun(coverage: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(coverage)) {
    const { result }: { result: Profiler.ScriptCoverage[] } = JSON.parse(await readFile(join(coverage, name), 'utf8'));
    const own = result.filter(({ url }) => url.startsWith('file:') && !url.includes('/node_modules/'));
    const ranges = own.flatMap(({ functions }) => functions.flatMap(one => one.ranges));
    for (const { count } of ranges) sum += count;
  }
  return sum;
}

/**
 * Returns the old or the new version of a large document. Each of its schemas refers to other schemas, and differs
 * between the two versions.
 */
function largeDocument(isNew: boolean): string {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const schemas = Object.fromEntries(numbers.map(n => [`schema_${n}`, schemaOf(n, isNew)]));
  const paths = Object.fromEntries(numbers.filter(n => n % 2 === 0).map(n => [`/v1/things/${n}`, pathOf(n, isNew)]));
  return JSON.stringify(documentWith({ paths, components: { schemas } }));
}

const text = { type: 'string', maxLength: 5_000 };
const flag = { type: 'boolean' };
const refer = (n: number) => ref(`schema_${n % count}`);

/**
 * Returns a schema with 18 fields. There are seven kinds of changes, and neighbouring schemas differ in the kind of
 * their change.
 */
function schemaOf(n: number, isNew: boolean): JsonObject {
  const fields = Array.from({ length: 16 }, (_, k): [string, JsonObject] => [
    `field_${k}`,
    {
      description: `The field ${k} of the schema ${n}, as its owner sees it.`,
      ...fieldOf(k, n * 31 + k * 97 + 1, isNew ? n % 7 : -1),
    },
  ]);
  const kept = fields.filter((_, k) => !(isNew && n % 7 === 5 && k === 3));
  const added = isNew && n % 7 === 6 ? { [`added_${n % 5}`]: text } : {};
  return object({ 'object!': { enum: [`schema_${n}`] }, 'id!': text, ...Object.fromEntries(kept), ...added });
}

/** Returns a field of one of eight kinds. If `change` is from 0 to 4, it alters the fields of one of these kinds. */
function fieldOf(k: number, n: number, change: number): JsonObject {
  const fields: JsonObject[] = [
    { ...text, maxLength: change === 0 ? 4_000 : 5_000 },
    { anyOf: [text, refer(n), ...(change === 1 ? [refer(n + 500)] : [])] },
    { type: 'string', enum: ['active', 'canceled', ...(change === 2 ? ['paused'] : [])] },
    { type: ['integer', 'null'], ...(change === 3 ? { minimum: 0 } : {}) },
    { anyOf: [refer(n), { type: 'null' }] },
    { type: 'array', items: refer(n) },
    listOf(k === 6 ? { anyOf: [refer(n), refer(n + 1)] } : refer(n)),
    { type: 'object', additionalProperties: { ...text, maxLength: change === 4 ? 400 : 500 } },
  ];
  return fields[k % 8] ?? {};
}

function listOf(items: JsonObject): JsonObject {
  return object({ 'object!': { enum: ['list'] }, 'data!': { type: 'array', items }, 'has_more!': flag, 'url!': text });
}

function pathOf(n: number, isNew: boolean): JsonObject {
  const content = (schema: JsonObject) => ({ content: json(schema) });
  const answer = (schema: JsonObject) => ({
    responses: {
      200: { description: 'Done.', ...content(schema) },
      default: { description: 'Failed.', ...content(refer(0)) },
    },
  });
  const period = object({
    from: text,
    to: { ...text, maxLength: isNew && n % 8 === 0 ? 100 : 200 },
    thing: refer(n * 5),
  });
  const body = n % 10 === 0 ? refer(n) : object({ name: text, notes: text, is_open: flag, period });
  return {
    get: {
      operationId: `list_${n}`,
      ...answer(object({ 'data!': { type: 'array', items: refer(n) }, 'more!': flag })),
    },
    post: { operationId: `create_${n}`, requestBody: content(body), ...answer(refer(n + 1)) },
  };
}
