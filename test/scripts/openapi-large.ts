import { type JsonObject, object } from './openapi-pair.ts';

const count = 346;

/**
 * Returns the old or the new version of a document of 1.1 MB. It has 346 schemas that all refer to each other. Each
 * schema differs between the two versions.
 */
export function largeDocument(isNew: boolean): string {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const schemas = Object.fromEntries(numbers.map(n => [`schema_${n}`, schemaOf(n, isNew)]));
  const paths = Object.fromEntries(numbers.filter(n => n % 2 === 0).map(n => [`/v1/things/${n}`, pathOf(n, isNew)]));
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Large', version: '1.0.0' },
    paths,
    components: { schemas },
  });
}

const text = { type: 'string', maxLength: 5_000 };
const flag = { type: 'boolean' };
const refer = (n: number) => ({ $ref: `#/components/schemas/schema_${n % count}` });

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
  switch (k % 8) {
    case 0:
      return { ...text, maxLength: change === 0 ? 4_000 : 5_000 };
    case 1:
      return { anyOf: [text, refer(n), ...(change === 1 ? [refer(n + 500)] : [])] };
    case 2:
      return { type: 'string', enum: ['active', 'canceled', ...(change === 2 ? ['paused'] : [])] };
    case 3:
      return { type: ['integer', 'null'], ...(change === 3 ? { minimum: 0 } : {}) };
    case 4:
      return { anyOf: [refer(n), { type: 'null' }] };
    case 5:
      return { type: 'array', items: refer(n) };
    case 6:
      return listOf(k === 6 ? { anyOf: [refer(n), refer(n + 1)] } : refer(n));
    default:
      return { type: 'object', additionalProperties: { ...text, maxLength: change === 4 ? 400 : 500 } };
  }
}

function listOf(items: JsonObject): JsonObject {
  return object({ 'object!': { enum: ['list'] }, 'data!': { type: 'array', items }, 'has_more!': flag, 'url!': text });
}

function pathOf(n: number, isNew: boolean): JsonObject {
  const content = (schema: JsonObject) => ({ content: { 'application/json': { schema } } });
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
