import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { describeDeprecation } from '../../contract/deprecation.ts';
import { type Capability, type Grant, includesGrant } from '../../contract/grants.ts';
import { operations } from '../../contract/index.ts';
import type { Json } from '../../contract/openapi/json-schema.ts';
import type { Route, RouteMetadata, ToolMetadata } from '../../contract/routes.ts';
import { argumentsOf, typesOf, userTextOf } from './tool-schemas.ts';

/** The place of a tool's argument in the input of the REST route. */
export interface ArgumentPlace {
  part: 'params' | 'query' | 'body';
  field: string;
}

/** An operation of the API as an MCP tool. */
export interface Tool {
  operationId: keyof typeof operations;
  route: Route;
  metadata: Extract<RouteMetadata, { tool: ToolMetadata }>;
  /** The place of each argument, by the name of the argument. */
  places: ReadonlyMap<string, ArgumentPlace>;
  /** The paths of the result's fields that contain text written by users. */
  userText: string[];
  /** The tool's entry in the answer to the MCP method `tools/list`. */
  definition: ToolDefinition;
}

/** The instructions for MCP clients explain these arguments and all ids once for all tools. */
const explained = ['board', 'page', 'per_page', 'cursor'];

/** All tools by name, in the order of the contract. */
export const tools = buildTools();

/** Builds all tools in the order of the contract. */
export function buildTools(): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const [operationId, route] of Object.entries(operations as Record<string, Route>)) {
    const metadata = route.metadata as RouteMetadata;
    if (!('tool' in metadata)) continue;
    const { name, title, description, resultFields } = metadata.tool;
    const { places, inputSchema } = readArguments(route, metadata.tool.defaults);
    const responses = route.responses as Record<number, unknown>;
    const result = responses[200] ?? responses[201];
    const userText = userTextOf(result);
    tools.set(name, {
      operationId: operationId as Tool['operationId'],
      route,
      metadata,
      places,
      userText,
      definition: {
        name,
        title,
        description: metadata.deprecated ? `${description} ${describeDeprecation(metadata.deprecated)}` : description,
        inputSchema,
        outputSchema: typesOf(result, resultFields) as ObjectSchema,
        annotations: annotationsOf(route, metadata.tool, userText.length > 0),
      },
    });
  }
  return tools;
}

/** Returns the definitions of the tools that a token with this grant and these capabilities may call. */
export function definitionsFor(held: Grant, capabilities: readonly Capability[]): ToolDefinition[] {
  return [...tools.values()].flatMap(({ metadata, definition }) => {
    if (metadata.auth !== 'board') return [definition];
    const { grant, capability } = metadata;
    const isUsable = includesGrant(held, grant) && (!capability || capabilities.includes(capability));
    return isUsable ? [definition] : [];
  });
}

type ObjectSchema = ToolDefinition['inputSchema'];
type Properties = NonNullable<ObjectSchema['properties']>;

/**
 * `openWorldHint` is true if the result contains text by users. Anybody may have written this text, so MCP counts it as
 * coming from an open world.
 */
function annotationsOf({ method }: Route, tool: ToolMetadata, hasUserText: boolean) {
  if (method === 'GET') return { readOnlyHint: true, openWorldHint: hasUserText };
  const { isDestructive, isIdempotent } = tool;
  return {
    readOnlyHint: false,
    destructiveHint: isDestructive,
    idempotentHint: isIdempotent,
    openWorldHint: hasUserText,
  };
}

/**
 * Returns a tool's arguments in this order: the path parameters, the fields of the body, the fields of the query and
 * the board.
 */
function readArguments(
  route: Route,
  defaults: ToolMetadata['defaults'] = {},
): Pick<Tool, 'places'> & { inputSchema: ObjectSchema } {
  const places = new Map<string, ArgumentPlace>();
  const all: Record<string, Json> = {};
  const required: string[] = [];
  for (const part of ['params', 'body', 'query'] as const) {
    const schema = schemaOf(route, part);
    if (!schema) continue;
    const { properties, required: requiredFields } = argumentsOf(schema);
    for (const [field, property] of Object.entries(properties)) {
      // Path parameters are written in camel case, but all arguments of tools in snake case.
      const name = field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
      if (places.has(name)) throw new Error(`${route.method} ${route.path} has two fields for the argument ${name}`);
      places.set(name, { part, field });
      // Leaves out the description of an argument that the instructions for MCP clients explain once for all tools.
      const isExplained = part === 'params' || explained.includes(name);
      all[name] = isExplained ? { ...property, description: undefined } : property;
      if (requiredFields.includes(field)) required.push(name);
    }
  }
  for (const [name, value] of Object.entries(defaults)) {
    if (!all[name]) throw new Error(`${route.method} ${route.path} has no argument ${name} for its default`);
    all[name] = { ...all[name], default: value };
  }
  const { board, ...others } = all;
  const inputSchema: ObjectSchema = {
    type: 'object',
    properties: { ...others, ...(board && { board }) } as Properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  return { places, inputSchema };
}

function schemaOf(route: Route, part: ArgumentPlace['part']): z.ZodObject | undefined {
  const schema = part === 'params' ? route.pathParams : part === 'query' ? route.query : 'body' in route && route.body;
  return schema instanceof z.ZodObject ? schema : undefined;
}
