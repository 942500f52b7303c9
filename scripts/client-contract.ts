/** Generates client/contract.ts, the part of the contract that the SDK needs, from contract/. */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { type ErrorKey, errorDetails, errors } from '../contract/errors.ts';
import { events, TestEvent } from '../contract/events.ts';
import { contract } from '../contract/index.ts';
import { buildOpenApiDocument } from '../contract/openapi.ts';
import type { Route, RouteMetadata } from '../contract/routes.ts';
import { buildTypes, docComment, field, type JsonSchema } from './client-types.ts';
import { writeGenerated } from './generated-file.ts';

interface MediaTypes {
  content?: { [type: string]: { schema: JsonSchema } };
}

interface DocumentedOperation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: JsonSchema }[];
  requestBody?: MediaTypes;
  responses: { [status: string]: MediaTypes };
}

const document = buildOpenApiDocument() as {
  paths: { [path: string]: { [method: string]: DocumentedOperation } };
  components: { schemas: { [name: string]: JsonSchema } };
};
const types = buildTypes(document.components.schemas);

writeGenerated('client/contract.ts', format(write()), 'client:contract');

function write(): string {
  // The SDK omits the health probes, which are for load balancers, and the MCP tools, which have their own protocol.
  const routes = Object.entries(contract as Record<string, Route>).filter(
    ([, route]) => !['none', 'tools'].includes(authOf(route)),
  );
  const documented = Object.values(document.paths).flatMap(methods => Object.values(methods));
  const queries: string[] = [];
  const typed = routes.map(([id, route]) => {
    const operation = documented.find(({ operationId }) => operationId === id);
    if (!operation) throw new Error(`The OpenAPI document has no operation ${id}`);
    const fields = queryFields(operation);
    const queryName = fields.length > 0 ? `${id[0]?.toUpperCase()}${id.slice(1)}Query` : 'undefined';
    if (fields.length > 0) queries.push(`export interface ${queryName} { ${fields.join('\n')} }`);
    return `${docComment(operation.summary)}${id}: ${operationType(operation, route, queryName)};`;
  });
  const eventSchemas = [...Object.values(events), TestEvent];
  types.refer('ValidationIssue');

  return `/*
 * The SDK's part of the contract: types in plain TypeScript, which need no schema library, and the route of each operation.
 * Written by npm run client:contract from contract/.
 */

interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Whether a token with several boards must name one. */
  isOnBoard: boolean;
  /** Whether the operation accepts an Idempotency-Key. */
  takesKey: boolean;
}

/** The route of each operation. */
export const routes: Readonly<Record<OperationId, Route>> = {
  ${routes.map(([id, route]) => `${id}: ${routeRow(route)},`).join('\n')}
};

/** An operation by its \`operationId\` in the OpenAPI document. */
export type OperationId = keyof Operations;

/** The query, the body, the result and the error keys of each operation. */
export interface Operations {
  ${typed.join('\n')}
}

/** Every error key of the API. */
export type ErrorKey = ${(Object.keys(errors) as ErrorKey[]).map(key => `'${key}'`).join(' | ')};

/** The types of \`details\`, by the error key. Errors with other keys have no details. */
export interface DetailsByKey {
  ${Object.entries(errorDetails)
    .map(([key, schema]) => field(key, types.refer(titleOf(schema)), true))
    .join('\n')}
}

/** The bodies of webhooks, by their \`type\`. */
export type EventBody = ${eventSchemas.map(schema => types.refer(titleOf(schema))).join(' | ')};

/** The event types of this version. */
export const eventTypes: readonly EventBody['type'][] = [${eventSchemas.map(({ shape }) => `'${shape.type.value}'`).join(', ')}];

${queries.join('\n\n')}

${types.declarations()}
`;
}

function authOf(route: Route): RouteMetadata['auth'] {
  return (route.metadata as RouteMetadata).auth;
}

function routeRow(route: Route): string {
  const takesKey = Object.hasOwn((route.headers ?? {}) as object, 'idempotency-key');
  return `{ method: '${route.method}', path: '${route.path}', isOnBoard: ${authOf(route) === 'board'}, takesKey: ${takesKey} }`;
}

/** Lists the query fields of an operation without `board`, which is an option of every call and of the client. */
function queryFields({ parameters = [] }: DocumentedOperation): string[] {
  return parameters
    .filter(parameter => parameter.in === 'query' && parameter.name !== 'board')
    .map(({ name, schema, required, description }) =>
      field(name, types.typeOf(schema), required === true, description),
    );
}

function operationType(operation: DocumentedOperation, route: Route, queryName: string): string {
  const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
  return `{
    query: ${queryName};
    body: ${operation.requestBody ? schemaType(operation.requestBody) : 'undefined'};
    result: ${answers.map(([, answer]) => schemaType(answer)).join(' | ')};
    errorKey: ${errorKeysOf(route)
      .map(key => `'${key}'`)
      .join(' | ')};
  }`;
}

function schemaType({ content }: MediaTypes): string {
  const schema = content?.['application/json']?.schema;
  if (!schema) throw new Error('A request or an answer is not JSON');
  return types.typeOf(schema);
}

/** Returns the error keys that a route declares, in the order of the catalogue. */
function errorKeysOf(route: Route): string[] {
  const declared = Object.values(route.responses).flatMap(response => {
    const key = response instanceof z.ZodObject ? response.shape.error?.shape.key : undefined;
    return key instanceof z.ZodEnum ? key.options : [];
  });
  return Object.keys(errors).filter(key => declared.includes(key));
}

function titleOf(schema: z.ZodType): string {
  return z.globalRegistry.get(schema)?.title ?? '';
}

/** Formats the generated file with Biome, like all other files. */
function format(source: string): string {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
  return execFileSync(process.execPath, [biome, 'format', '--stdin-file-path=client/contract.ts'], {
    input: source,
    encoding: 'utf8',
  });
}
