import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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
/** The limits are proportional to the size, so they also fail if the CPU time grows faster than the size. */
const limits = { cpuSeconds: Math.ceil(count / 69), megabytes: 200 + Math.ceil(count * 0.29) };

const run = promisify(execFile);
const program = fileURLToPath(new URL('../../scripts/openapi-diff/cli.ts', import.meta.url));

/**
 * A module that prints the CPU time and the memory that its process used. Then the module measures the CPU time of a
 * fixed loop, and prints it. The loop takes 1 s of CPU time on a usual machine, and longer when other programs slow
 * down the processor.
 */
const printUsage = `data:text/javascript,${encodeURIComponent(`
  const cpuSeconds = () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    return (userCPUTime + systemCPUTime) / 1e6;
  };
  process.on('exit', () => {
    const used = cpuSeconds();
    const megabytes = process.resourceUsage().maxRSS / 1e3;
    const counts = new Map();
    for (let n = 0; n < 4e6; n++) counts.set('key' + (n * 7919) % 50021, n);
    console.error(JSON.stringify({ used, megabytes, loop: cpuSeconds() - used }));
  });
`)}`;

test(`openapi-diff compares two large documents with changes in all ${count} schemas within ${limits.megabytes} MB and, on usual machines, ${limits.cpuSeconds} s of CPU time`, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-diff-large-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [name, isNew] of Object.entries({ 'base.json': false, 'head.json': true })) {
    const text = largeDocument(isNew);
    expect(text.length).toBeGreaterThan(count * 3_275);
    await writeFile(join(directory, name), text);
  }
  const args = ['--max-semi-space-size=4', '--import', printUsage, program, 'base.json', 'head.json'];
  const options = { cwd: directory, maxBuffer: 64 * 1024 * 1024 };
  const { stdout, stderr } = await run(process.execPath, [...args, '--fail-on', 'none'], options);
  const changed = stdout.matchAll(/^ {2}head #\/components\/schemas\/(schema_\d+)/gm).map(([, one]) => one);
  expect(new Set(changed).size).toBe(count);
  const { used, megabytes, loop } = JSON.parse(stderr);
  expect(used / loop).toBeLessThan(limits.cpuSeconds);
  expect(megabytes).toBeLessThan(limits.megabytes);
});

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
