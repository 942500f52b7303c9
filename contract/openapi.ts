import { generateOpenApi } from '@ts-rest/open-api';
import { errors } from './errors.ts';
import { contract, type OperationId } from './index.ts';
import { headers } from './openapi/headers.ts';
import { info, securitySchemes, servers, tags } from './openapi/info.ts';
import { type Json, toJsonSchema } from './openapi/json-schema.ts';
import { describeOperation, type Operation } from './openapi/operations.ts';
import { describeWebhooks } from './openapi/webhooks.ts';

/** Builds the OpenAPI 3.1 document of the contract. The result is always the same for the same contract. */
export function buildOpenApiDocument(): Json {
  const errorSchemas: Json = {};
  const examples: Json = {};
  const document = generateOpenApi(
    contract,
    {
      openapi: '3.1.0',
      info,
      servers,
      security: [{ bearer: [] }],
      tags,
      components: { securitySchemes, headers, examples },
    } as unknown as Parameters<typeof generateOpenApi>[1],
    {
      setOperationId: true,
      schemaTransformer: ({ schema, type }) => toJsonSchema(schema, type === 'response' ? 'output' : 'input') as never,
      operationMapper: (operation, route, id) =>
        describeOperation(operation as unknown as Operation, route, id as OperationId, {
          errorSchemas,
          examples,
        }) as never,
    },
  ) as unknown as Json & { components: { schemas: Json } };
  const { schemas } = document.components;
  Object.assign(schemas, errorSchemas);
  return { ...document, webhooks: describeWebhooks(schemas, examples), 'x-error-keys': errors };
}
