import { z } from 'zod';
import type { OperationId } from '../index.ts';
import { buckets } from '../limits.ts';
import type { Route, RouteMetadata } from '../routes.ts';
import { codeSamples } from './code-samples.ts';
import { describeError } from './errors.ts';
import { requestExamples, resultExamples } from './examples.ts';
import { headersOf } from './headers.ts';
import { type Json, toJsonSchema } from './json-schema.ts';

interface Content {
  description?: string;
  required?: boolean;
  content?: { 'application/json': Json };
}

/** An operation of the OpenAPI document, as ts-rest generates it. */
export type Operation = Json & {
  parameters: (Json & { schema: Json })[];
  requestBody?: Content;
  responses: Record<string, Content & Json>;
};

const emptyResponses: Record<string, string> = {
  202: 'The message is a notification or a response. The server accepts it and sends no body. Does not count against the rate limit.',
  304: 'Not modified. Does not count against the rate limit.',
};

/** Completes an operation with facts that ts-rest does not know: access rules, headers, errors and examples. */
export function describeOperation(
  operation: Operation,
  route: Route,
  operationId: OperationId,
  components: { errorSchemas: Json; examples: Json },
): Json {
  const metadata = route.metadata as RouteMetadata;
  describeParameters(operation, route);
  const body = describeRequest(operation, route, operationId, components.examples);
  for (const [status, response] of Object.entries(operation.responses)) {
    const schema = route.responses[Number(status)];
    // For a response without a body, ts-rest writes only the status as the description. This code replaces that
    // description.
    if (response.description === status) response.description = emptyResponses[status] ?? status;
    response.headers = headersOf(Number(status), route.method, metadata);
    if (schema instanceof z.ZodType && schema.meta()?.examples && response.content) {
      response.content['application/json'].examples = resultExamples(operationId, schema, components.examples);
    }
    const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Error${status}`;
    describeError(response, name, route, components);
  }
  const samples = codeSamples(operation.parameters, route, operationId, body);
  const deprecated = metadata.deprecated && { deprecated: true };
  return { ...operation, ...deprecated, tags: [metadata.tag], ...accessOf(metadata), 'x-codeSamples': samples };
}

function describeParameters({ parameters }: Operation, route: Route) {
  for (const [name, schema] of Object.entries((route.headers ?? {}) as Record<string, z.ZodType>)) {
    const { description, ...jsonSchema } = toJsonSchema(schema, 'input') ?? {};
    parameters.push({ name, in: 'header', description, schema: jsonSchema });
  }
  for (const parameter of parameters) {
    const { examples = [], deprecated, ...schema } = parameter.schema;
    parameter.schema = schema;
    if (deprecated) parameter.deprecated = deprecated;
    // In a query string, commas separate the values of a list.
    if (parameter.in === 'query' && schema.type === 'array')
      Object.assign(parameter, { style: 'form', explode: false });
    const [value] = examples as unknown[];
    if (value === undefined) continue;
    if (parameter.required) parameter.example = value;
    // Disables the example for the page /docs. Otherwise that page would add the optional parameter to its sample
    // request.
    else parameter.examples = { example: { value, 'x-disabled': true } };
  }
}

/** Adds examples to the request body. Returns the value of the first example. */
function describeRequest({ requestBody }: Operation, route: Route, operationId: OperationId, examples: Json) {
  const schema = 'body' in route ? route.body : undefined;
  if (!requestBody?.content || !(schema instanceof z.ZodType)) return;
  const names = requestExamples(operationId, schema, examples);
  requestBody.content['application/json'].examples = names;
  requestBody.required = true;
  // Deletes the description of the request body, because the schema of the body has its own description.
  delete requestBody.description;
  const [first = ''] = Object.keys(names);
  return (examples[first] as { value: unknown }).value;
}

/**
 * Returns the access rules of an operation: its security scheme, the grant and the capability that a token needs, and
 * the rate limit that counts the requests.
 */
function accessOf(metadata: RouteMetadata): Json {
  if (metadata.auth === 'none') return { security: [] };
  if (metadata.auth !== 'board') return {};
  return {
    'x-grant': metadata.grant,
    'x-bucket': metadata.bucket,
    'x-rate-limit': buckets[metadata.bucket],
    ...(metadata.capability ? { 'x-capability': metadata.capability } : {}),
    ...(metadata.grantByQuery ? { 'x-grant-by-query': metadata.grantByQuery } : {}),
  };
}
