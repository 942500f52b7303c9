/** Generates client/contract.ts, the part of the contract that the SDK needs, from contract/. */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { z } from 'zod';
import { type ErrorKey, errorDetails, errors, keysIn } from '../contract/errors.ts';
import { events, TestEvent } from '../contract/events.ts';
import { contract } from '../contract/index.ts';
import { buildOpenApiDocument } from '../contract/openapi.ts';
import type { Route, RouteMetadata } from '../contract/routes.ts';
import { writeGenerated } from './generated-file.ts';

interface MediaTypes {
  content?: { [type: string]: { schema: JSONSchema } };
}

interface DocumentedOperation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: JSONSchema }[];
  requestBody?: MediaTypes;
  responses: { [status: string]: MediaTypes };
}

const { paths, components } = buildOpenApiDocument() as unknown as {
  paths: { [path: string]: { [method: string]: DocumentedOperation } };
  components: { schemas: { [name: string]: JSONSchema } };
};
const documented = Object.values(paths).flatMap(methods => Object.values(methods));
// The SDK omits the health probes, which are for load balancers, and the MCP tools, which have their own protocol.
const routes = Object.entries(contract as Record<string, Route>).filter(
  ([, route]) => !['none', 'tools'].includes(authOf(route)),
);
const eventSchemas = [...Object.values(events), TestEvent];
const nothing: JSONSchema = { tsType: 'undefined' };

const types = await compile(
  {
    ...objectOf(Object.fromEntries(routes.map(([id, route]) => [id, describeOperation(id, route)]))),
    description: 'The query, the body, the result and the error keys of each operation.',
    components: { schemas: mapValues(components.schemas, (schema, name) => ({ ...schema, title: name })) },
    $defs: {
      ErrorKey: { description: 'Every error key of the API.', enum: Object.keys(errors) },
      DetailsByKey: {
        ...objectOf(mapValues(errorDetails, referTo)),
        description: 'The types of `details`, by the error key. Errors with other keys have no details.',
      },
      EventBody: { description: 'The bodies of webhooks, by their `type`.', anyOf: eventSchemas.map(referTo) },
      ValidationIssue: components.schemas.ValidationIssue ?? {},
    },
  },
  'Operations',
  {
    bannerComment: '',
    additionalProperties: false,
    unreachableDefinitions: true,
    ignoreMinAndMaxItems: true,
    format: false,
  },
);

const text = `/*
 * The SDK's part of the contract: types in plain TypeScript, which need no schema library, and the route of each operation.
 * Written by npm run client:contract from contract/.
 */

interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Whether a token with several boards must name a board in the request. */
  isOnBoard: boolean;
  /** Whether the operation accepts an Idempotency-Key. */
  takesKey: boolean;
}

/** The method, the path and other facts about each operation. */
export const routes: Readonly<Record<OperationId, Route>> = {
  ${routes.map(([id, route]) => `${id}: ${routeRow(route)},`).join('\n')}
};

/** An operation by its \`operationId\` in the OpenAPI document. */
export type OperationId = keyof Operations;

/** The event types of this version. */
export const eventTypes: readonly EventBody['type'][] = [${eventSchemas.map(({ shape }) => `'${shape.type.value}'`).join(', ')}];

${types
  // An optional field may also be undefined, because JSON then omits the field.
  .replace(/^(\w+\?: .*)$/gm, '$1 | undefined')
  .replace(/ \* \n \* This interface was referenced by [\s\S]*?(?= \*\/)/g, '')
  // Puts short comments on one line.
  .replace(/\/\*\*\n \* (.{1,106})\n \*\//g, '/** $1 */')}`;

// Formats the generated file with Biome, like all other files.
const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
const formatter = [biome, 'format', '--stdin-file-path=client/contract.ts'];
const formatted = execFileSync(process.execPath, formatter, { input: text, encoding: 'utf8' });
writeGenerated('client/contract.ts', formatted, 'client:contract');

function describeOperation(id: string, route: Route): JSONSchema {
  const operation = documented.find(({ operationId }) => operationId === id);
  if (!operation) throw new Error(`The OpenAPI document has no operation ${id}`);
  const { summary, parameters = [], requestBody, responses } = operation;
  // Leaves out the parameter `board`, because it is an option of every call and of the client itself.
  const fields = parameters.filter(parameter => parameter.in === 'query' && parameter.name !== 'board');
  const query = {
    ...objectOf(
      Object.fromEntries(fields.map(({ name, schema, description }) => [name, { ...schema, description }])),
      fields.filter(({ required }) => required).map(({ name }) => name),
    ),
    title: `${id[0]?.toUpperCase()}${id.slice(1)}Query`,
  };
  const results = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return {
    ...objectOf({
      query: fields.length > 0 ? query : nothing,
      body: requestBody ? schemaOf(requestBody) : nothing,
      result: { anyOf: results.map(([, answer]) => schemaOf(answer)) },
      errorKey: { enum: errorKeysOf(route) },
    }),
    description: summary,
  };
}

function objectOf(properties: Record<string, JSONSchema>, required = Object.keys(properties)): JSONSchema {
  return { type: 'object', properties, required };
}

function referTo(schema: z.ZodType): JSONSchema {
  return { $ref: `#/components/schemas/${z.globalRegistry.get(schema)?.title}` };
}

function mapValues<Value>(values: Record<string, Value>, map: (value: Value, name: string) => JSONSchema) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}

function authOf(route: Route): RouteMetadata['auth'] {
  return (route.metadata as RouteMetadata).auth;
}

function routeRow(route: Route): string {
  const takesKey = Object.hasOwn((route.headers ?? {}) as object, 'idempotency-key');
  return `{ method: '${route.method}', path: '${route.path}', isOnBoard: ${authOf(route) === 'board'}, takesKey: ${takesKey} }`;
}

function schemaOf({ content }: MediaTypes): JSONSchema {
  const schema = content?.['application/json']?.schema;
  if (!schema) throw new Error('A request or an answer is not JSON');
  return schema;
}

/** Returns the error keys that a route declares, in the order of the list in contract/errors.ts. */
function errorKeysOf(route: Route): string[] {
  const declared = new Set(Object.values(route.responses).flatMap(keysIn));
  return (Object.keys(errors) as ErrorKey[]).filter(key => declared.has(key));
}
