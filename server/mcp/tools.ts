import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { operations } from '../../contract/index.ts';
import { type Json, toJsonSchema } from '../../contract/openapi/json-schema.ts';
import type { Route, RouteMetadata, ToolMetadata } from '../../contract/routes.ts';

/** Where an argument of a tool stands in the input of its route. */
export interface ArgumentPlace {
  part: 'params' | 'query' | 'body';
  field: string;
}

/** An operation of the contract as a tool. */
export interface Tool {
  operationId: keyof typeof operations;
  route: Route;
  metadata: Extract<RouteMetadata, { tool: ToolMetadata }>;
  /** Where each argument stands in the route. */
  places: ReadonlyMap<string, ArgumentPlace>;
  /** What `tools/list` says of it. */
  definition: ToolDefinition;
}

/** Every tool by its name, in the order of the contract. Made once: the schemas are converted here. */
export function buildTools(): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const [operationId, route] of Object.entries(operations as Record<string, Route>)) {
    const metadata = route.metadata as RouteMetadata;
    if (!('tool' in metadata)) continue;
    tools.set(metadata.tool.name, {
      operationId: operationId as Tool['operationId'],
      route,
      metadata,
      places: placesOf(route),
      definition: define(route, metadata.tool),
    });
  }
  return tools;
}

function define(route: Route, { name, title, description, isDestructive, isIdempotent }: ToolMetadata): ToolDefinition {
  return {
    name,
    title,
    description,
    inputSchema: inputSchemaOf(route),
    outputSchema: outputSchemaOf(route),
    annotations: {
      title,
      readOnlyHint: route.method === 'GET',
      destructiveHint: isDestructive,
      idempotentHint: isIdempotent,
      // What a tool can reach is what its token grants, and nothing beyond this server.
      openWorldHint: false,
    },
  };
}

type ObjectSchema = ToolDefinition['inputSchema'];
type Properties = NonNullable<ObjectSchema['properties']>;

/** What a tool takes: the parameters of its route, then the fields of its body, with the board last. */
function inputSchemaOf(route: Route): ObjectSchema {
  const properties: Properties = {};
  const required: string[] = [];
  for (const part of ['params', 'body', 'query'] as const) {
    const schema = schemaOf(route, part);
    const json = schema && (toJsonSchema(schema, 'input') as ObjectSchema);
    for (const [field, property] of Object.entries(json?.properties ?? {})) {
      properties[argumentName(field)] = plain(property as Json) as Properties[string];
      if (json?.required?.includes(field)) required.push(argumentName(field));
    }
  }
  const { board, ...others } = properties;
  return {
    type: 'object',
    properties: { ...others, ...(board && { board }) },
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

/** What a tool answers. Nothing forbids a field more, since the server adds some within v1. */
function outputSchemaOf({ responses }: Route): ObjectSchema {
  const success = (responses as Record<number, unknown>)[200] ?? (responses as Record<number, unknown>)[201];
  const { title: _, ...schema } = plain(toJsonSchema(success, 'output') ?? {});
  return schema as ObjectSchema;
}

/** Where each argument goes. */
function placesOf(route: Route): ReadonlyMap<string, ArgumentPlace> {
  const places = new Map<string, ArgumentPlace>();
  for (const part of ['params', 'body', 'query'] as const) {
    for (const field of Object.keys(schemaOf(route, part)?.shape ?? {})) {
      const name = argumentName(field);
      if (places.has(name))
        throw new Error(`${route.method} ${route.path} has two fields that are the argument ${name}`);
      places.set(name, { part, field });
    }
  }
  return places;
}

function schemaOf(route: Route, part: ArgumentPlace['part']): z.ZodObject | undefined {
  const schema = part === 'params' ? route.pathParams : part === 'query' ? route.query : 'body' in route && route.body;
  return schema instanceof z.ZodObject ? schema : undefined;
}

/** A parameter of a path is written in camel case there, and every argument in snake case. */
function argumentName(field: string): string {
  return field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}

/** Without what only the OpenAPI document makes use of: a model pays for every word, and validators refuse its formats. */
function plain(schema: Json): Json {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => key !== 'examples' && !(key === 'format' && value === 'int64'))
      .map(([key, value]) => [key, key === 'properties' ? plainEach(value as Json) : plainValue(value)]),
  );
}

function plainEach(properties: Json): Json {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plainValue(schema)]));
}

function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  return value !== null && typeof value === 'object' ? plain(value as Json) : value;
}
