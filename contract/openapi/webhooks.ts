import { z } from 'zod';
import { events, TestEvent } from '../events.ts';
import { exampleOf, refer } from './examples.ts';
import { type Json, nameSchemas, toJsonSchema } from './json-schema.ts';

/**
 * Returns the descriptions of the webhooks by event type. Adds the schemas and the examples of the webhooks to the
 * components.
 */
export function describeWebhooks(schemas: Json, examples: Json): Json {
  const webhooks: Json = {};
  for (const schema of [...Object.values(events), TestEvent]) {
    const type = schema.shape.type.value;
    webhooks[type] = { post: describeWebhook(type, schema, schemas, examples) };
  }
  return webhooks;
}

/**
 * Describes one webhook as an OpenAPI operation. The server sends the request of this operation to the webhook's
 * receiver.
 */
function describeWebhook(type: string, schema: z.ZodType, schemas: Json, examples: Json): Json {
  const { title = '', description = '' } = z.globalRegistry.get(schema) ?? {};
  const jsonSchema = toJsonSchema(schema, 'output') ?? {};
  for (const [key, value] of Object.entries(jsonSchema)) {
    if (key !== 'examples') jsonSchema[key] = nameSchemas(value, schemas);
  }
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
      description: 'The event. The signature covers exactly these bytes.',
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${title}` },
          examples: refer(exampleOf(schema), examples),
        },
      },
    },
    responses: webhookResponses,
  };
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
    'The id of the event. It is the same on every attempt: use it to ignore duplicates.',
    'evt_0d9ad1c7-6b3a-4f0c-9c3b-5a1f7a0f3c55',
  ),
  webhookHeader('webhook-timestamp', 'The time of this attempt, in seconds since 1970.', '1773480413'),
  webhookHeader(
    'webhook-signature',
    'The Standard Webhooks signature: `v1,` and the base64 HMAC-SHA-256 of `<webhook-id>.<webhook-timestamp>.<body>`. One for each valid secret, separated by spaces.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

const webhookResponses = {
  '2XX': {
    description:
      'The event was received. After any other response, or none within 10 seconds, the server retries later.',
  },
  '410': { description: 'Unsubscribes: the server disables the webhook at once.' },
};
