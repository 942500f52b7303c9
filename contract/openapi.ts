import type { AppRoute } from '@ts-rest/core';
import { generateOpenApi } from '@ts-rest/open-api';
import { z } from 'zod';
import { events, TestEvent } from './events.ts';
import { contract } from './index.ts';
import { buckets } from './limits.ts';
import type { RouteMetadata } from './routes.ts';

type Json = { [key: string]: unknown };

const info = {
  title: 'Idea-Board Agent API',
  version: '1.0.0',
  summary: 'Ideas, votes, comments, tags and statuses on feedback boards, for machine clients.',
  description:
    'Every request carries a bearer token, which grants boards at `read`, `write` or `moderate`. Clients rely on the HTTP status and `error.key`; the text of a message may change. Within v1 the contract only grows: ignore fields that you do not know.',
  license: { name: 'MIT', identifier: 'MIT' },
  contact: { name: 'Idea-Board' },
};

const tags = [
  { name: 'Board', description: 'The board, its status registry and its tags.' },
  { name: 'Ideas', description: 'Reading, searching and creating ideas.' },
  { name: 'Votes', description: 'The vote of the token on an idea.' },
  { name: 'Comments', description: 'The comments of an idea.' },
  { name: 'Moderation', description: 'Statuses, tags and merging; the `moderate` grant.' },
  { name: 'Token', description: 'The token itself and its limits.' },
  { name: 'Webhooks', description: 'What is posted to the addresses that an account registered for it.' },
  { name: 'Probes', description: 'For uptime monitors and load balancers; without authentication.' },
];

/** The OpenAPI 3.1 document of the contract: always the same text for the same contract. */
export function buildOpenApiDocument(): Json {
  const errorSchemas: Json = {};
  const document = generateOpenApi(
    contract,
    {
      openapi: '3.1.0',
      info,
      servers: [{ url: '{base_url}', variables: { base_url: { default: 'http://localhost:3000' } } }],
      security: [{ bearer: [] }],
      tags,
      components: { securitySchemes: { bearer: bearerScheme }, headers },
    } as unknown as Parameters<typeof generateOpenApi>[1],
    {
      setOperationId: true,
      schemaTransformer: ({ schema, type }) => toJsonSchema(schema, type === 'response' ? 'output' : 'input') as never,
      operationMapper: (operation, route, id) =>
        describeOperation(operation as unknown as Json, route, id, errorSchemas) as never,
    },
  ) as unknown as Json & { components: { schemas: Json } };
  const { schemas } = document.components;
  Object.assign(schemas, errorSchemas);
  const webhooks: Json = {};
  for (const schema of [...Object.values(events), TestEvent]) {
    const type = schema.shape.type.value;
    webhooks[type] = { post: describeWebhook(type, schema, schemas) };
  }
  return { ...document, webhooks };
}

/** A webhook is a request that the server makes: its operation is the receiver's. */
function describeWebhook(type: string, schema: z.ZodType, schemas: Json): Json {
  const { title = '', description = '' } = z.globalRegistry.get(schema) ?? {};
  const jsonSchema = toJsonSchema(schema, 'output') ?? {};
  for (const [key, value] of Object.entries(jsonSchema)) jsonSchema[key] = nameSchemas(value, schemas);
  schemas[title] = jsonSchema;
  return {
    operationId: `receive${title}`,
    tags: ['Webhooks'],
    summary: `${type[0]?.toUpperCase()}${type.slice(1).replace(/[._]/g, ' ')}`,
    description,
    security: [],
    parameters: webhookHeaders,
    requestBody: {
      required: true,
      description: 'The event. The signature is over these bytes as they are.',
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${title}` } } },
    },
    responses: webhookResponses,
  };
}

/** Gives every schema with a title a place among the components, and a reference where it stood. */
function nameSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map(one => nameSchemas(one, schemas));
  if (value === null || typeof value !== 'object') return value;
  const named = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, nameSchemas(one, schemas)]));
  const { title } = named;
  if (typeof title !== 'string') return named;
  schemas[title] ??= named;
  return JSON.stringify(schemas[title]) === JSON.stringify(named) ? { $ref: `#/components/schemas/${title}` } : named;
}

const webhookHeader = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

const webhookHeaders = [
  webhookHeader(
    'webhook-id',
    'Identifies the event: the same at every try, so that one which came before can be left out.',
    'evt_0d9ad1c7-6b3a-4f0c-9c3b-5a1f7a0f3c55',
  ),
  webhookHeader('webhook-timestamp', 'When this try was made, in seconds since 1970.', '1773480413'),
  webhookHeader(
    'webhook-signature',
    'As Standard Webhooks has it: `v1,` and the HMAC-SHA-256 in base64 of `<webhook-id>.<webhook-timestamp>.<body>`; one for each valid secret, with spaces between.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

const webhookResponses = {
  '2XX': { description: 'The event was received. Any other answer, and none within 10 seconds, is tried again later.' },
  '410': { description: 'Nothing more is wanted: the webhook is disabled at once.' },
};

const bearerScheme = {
  type: 'http',
  scheme: 'bearer',
  description: 'An API token: `Authorization: Bearer ib_<id>_<secret>`.',
};

const integer = { type: 'integer' };

const headers = {
  'X-Request-Id': { description: 'Identifies the request in the log of the server.', schema: { type: 'string' } },
  'RateLimit-Policy': { description: "The bucket's name, quota and window in seconds.", schema: { type: 'string' } },
  RateLimit: {
    description: 'What remains in the bucket, and the seconds until it resets.',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': { description: 'Requests in a window.', schema: integer },
  'X-RateLimit-Remaining': { description: 'Requests left in the current window.', schema: integer },
  'X-RateLimit-Reset': { description: 'Seconds until the window ends.', schema: integer },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: integer },
  ETag: { description: 'A weak validator for `If-None-Match`.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: '`true` on the repeated answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
};

const rateLimitHeaders = [
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

function describeOperation(operation: Json, route: AppRoute, operationId: string, errorSchemas: Json): Json {
  const metadata = route.metadata as RouteMetadata;
  const responses = operation.responses as Record<string, Json>;
  for (const [status, response] of Object.entries(responses)) {
    if (response.description === status) response.description = descriptionOf(Number(status), route);
    response.headers = headersOf(Number(status), route.method, metadata);
    nameErrorSchema(response, `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Error${status}`, errorSchemas);
  }
  for (const [name, schema] of Object.entries((route.headers ?? {}) as Record<string, z.ZodType>)) {
    const { description, ...jsonSchema } = toJsonSchema(schema, 'input') ?? {};
    (operation.parameters as Json[]).push({ name, in: 'header', description, schema: jsonSchema });
  }
  if (operation.requestBody) {
    Object.assign(operation.requestBody, { required: true, description: route.summary });
  }
  return {
    ...operation,
    tags: [metadata.tag],
    responses,
    ...(metadata.auth === 'none' ? { security: [] } : {}),
    ...(metadata.auth === 'board'
      ? {
          'x-grant': metadata.grant,
          'x-bucket': metadata.bucket,
          'x-rate-limit': buckets[metadata.bucket],
          ...(metadata.grantByQuery ? { 'x-grant-by-query': metadata.grantByQuery } : {}),
        }
      : {}),
  };
}

function descriptionOf(status: number, route: AppRoute): string {
  return status === 304 ? 'What `If-None-Match` names is still current. Charges no bucket.' : `${route.summary}: done.`;
}

/** Gives the body of an error a name of its own: by its key where it has one alone, else by operation and status. */
function nameErrorSchema(response: Json, nameOfSeveral: string, errorSchemas: Json) {
  const mediaType = (response.content as { [type: string]: Json } | undefined)?.['application/json'];
  const schema = mediaType?.schema as ErrorSchema | undefined;
  const keys = schema?.properties?.error?.properties.key.enum;
  if (!mediaType || !keys) return;
  const [first = ''] = keys;
  const nameOfOne = `${first.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Error`;
  const name = keys.length === 1 ? nameOfOne : nameOfSeveral;
  errorSchemas[name] = { title: name, ...schema };
  mediaType.schema = { $ref: `#/components/schemas/${name}` };
}

interface ErrorSchema {
  properties?: { error?: { properties: { key: { enum: string[] } } } };
}

function headersOf(status: number, method: string, metadata: RouteMetadata): Json {
  const names = ['X-Request-Id'];
  const isAuthenticated = metadata.auth !== 'none' && ![401, 500, 503].includes(status);
  if (isAuthenticated) names.push(...rateLimitHeaders);
  if (metadata.auth === 'board' && method === 'GET' && [200, 304].includes(status)) names.push('ETag');
  if (metadata.auth === 'board' && method === 'POST' && status < 300) names.push('Idempotency-Replayed');
  if (status === 429 || (status === 503 && metadata.auth !== 'none')) names.push('Retry-After');
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A Zod schema as JSON Schema 2020-12. A schema with a title becomes a named component. */
function toJsonSchema(schema: unknown, io: 'input' | 'output'): Json | null {
  // ts-rest passes its symbol for "no body" here too.
  if (!(schema instanceof z.ZodType)) return null;
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      // What Zod cannot see in a refinement stands in the schema's metadata.
      const openapi = z.globalRegistry.get(zodSchema)?.openapi;
      if (openapi) {
        const { description, examples } = jsonSchema;
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, openapi, description && { description }, examples && { examples });
      }
      // z.int() bounds every integer to what a double holds, which says nothing to a reader.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // The server adds fields within v1, so an answer with one more is still a valid answer.
      if (io === 'output' && jsonSchema.type === 'object') delete jsonSchema.additionalProperties;
    },
  });
  return jsonSchema;
}
