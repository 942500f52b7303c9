import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { operations } from '../../contract/index.ts';
import { type Json, toJsonSchema } from '../../contract/openapi/json-schema.ts';
import type { Route, RouteMetadata, ToolMetadata } from '../../contract/routes.ts';

/** The place of a tool's argument in the input of the REST route. */
export interface ArgumentPlace {
  part: 'params' | 'query' | 'body';
  field: string;
}

/** An operation of the contract as an MCP tool. */
export interface Tool {
  operationId: keyof typeof operations;
  route: Route;
  metadata: Extract<RouteMetadata, { tool: ToolMetadata }>;
  /** The place of each argument, by the name of the argument. */
  places: ReadonlyMap<string, ArgumentPlace>;
  /** The entry of the tool in the answer to `tools/list`. */
  definition: ToolDefinition;
}

/** Builds all tools in the order of the contract. Call this function only once, because it converts all schemas. */
export function buildTools(): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const [operationId, route] of Object.entries(operations as Record<string, Route>)) {
    const metadata = route.metadata as RouteMetadata;
    if (!('tool' in metadata)) continue;
    const { name, title, description, isDestructive, isIdempotent } = metadata.tool;
    const { places, inputSchema } = readArguments(route, metadata.tool.defaults);
    const annotations = {
      title,
      readOnlyHint: route.method === 'GET',
      destructiveHint: isDestructive,
      idempotentHint: isIdempotent,
      // A tool can access only the boards of its token, and only on this server.
      openWorldHint: false,
    };
    tools.set(name, {
      operationId: operationId as Tool['operationId'],
      route,
      metadata,
      places,
      definition: { name, title, description, inputSchema, outputSchema: outputSchemaOf(route), annotations },
    });
  }
  return tools;
}

type ObjectSchema = ToolDefinition['inputSchema'];
type Properties = NonNullable<ObjectSchema['properties']>;

/** Returns a tool's arguments: the path parameters, then the fields of the body and the query, and last the board. */
function readArguments(
  route: Route,
  defaults: ToolMetadata['defaults'] = {},
): Pick<Tool, 'places'> & { inputSchema: ObjectSchema } {
  const places = new Map<string, ArgumentPlace>();
  const properties: Properties = {};
  const required: string[] = [];
  for (const part of ['params', 'body', 'query'] as const) {
    const schema = schemaOf(route, part);
    const json = schema && (toJsonSchema(schema, 'input') as ObjectSchema);
    for (const [field, property] of Object.entries(json?.properties ?? {})) {
      // Path parameters are written in camel case, but all arguments of tools in snake case.
      const name = field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
      if (places.has(name)) throw new Error(`${route.method} ${route.path} has two fields for the argument ${name}`);
      places.set(name, { part, field });
      properties[name] = trim(property as Json) as Properties[string];
      if (json?.required?.includes(field)) required.push(name);
    }
  }
  for (const [name, value] of Object.entries(defaults)) {
    if (!properties[name]) throw new Error(`${route.method} ${route.path} has no argument ${name} for its default`);
    properties[name] = { ...(properties[name] as Json), default: value } as Properties[string];
  }
  const { board, ...others } = properties;
  const inputSchema: ObjectSchema = {
    type: 'object',
    properties: { ...others, ...(board && { board }) },
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  return { places, inputSchema };
}

/** Returns the schema of a tool's result. It allows more fields, because the server may add fields within v1. */
function outputSchemaOf({ responses }: Route): ObjectSchema {
  const success = (responses as Record<number, unknown>)[200] ?? (responses as Record<number, unknown>)[201];
  const { title: _, ...schema } = trim(toJsonSchema(success, 'output') ?? {});
  return schema as ObjectSchema;
}

function schemaOf(route: Route, part: ArgumentPlace['part']): z.ZodObject | undefined {
  const schema = part === 'params' ? route.pathParams : part === 'query' ? route.query : 'body' in route && route.body;
  return schema instanceof z.ZodObject ? schema : undefined;
}

/** Removes examples, which lengthen prompts of language models, and the format int64, which validators refuse. */
function trim(schema: Json): Json {
  const isDropped = (key: string, value: unknown) =>
    (key === 'examples' && Array.isArray(value)) || (key === 'format' && value === 'int64');
  return JSON.parse(JSON.stringify(schema, (key, value) => (isDropped(key, value) ? undefined : value)));
}
