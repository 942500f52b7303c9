import type { Tool as ToolDefinition } from '@modelcontextprotocol/server';
import { operations } from '../../contract/index.ts';
import type { Route, RouteMetadata, ToolMetadata } from '../../contract/routes.ts';
import { type ArgumentPlace, inputSchemaOf, outputSchemaOf, placesOf } from './tool-schemas.ts';

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
