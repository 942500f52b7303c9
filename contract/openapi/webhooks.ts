import { z } from 'zod';
import { events, TestEvent } from '../events.ts';
import { exampleOf, refer } from './examples.ts';
import { type Json, nameSchemas, toJsonSchema } from './json-schema.ts';

/** The webhooks of the document, by the type of their event. Their schemas and examples join the components. */
export function describeWebhooks(schemas: Json, examples: Json): Json {
  const webhooks: Json = {};
  for (const schema of [...Object.values(events), TestEvent]) {
    const type = schema.shape.type.value;
    webhooks[type] = { post: describeWebhook(type, schema, schemas, examples) };
  }
  return webhooks;
}

/** A webhook is a request that the server makes: its operation is the receiver's. */
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
      description: 'The event. The signature is over these bytes as they are.',
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
