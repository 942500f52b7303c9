import type { OperationId } from '../index.ts';
import type { Route, RouteMetadata } from '../routes.ts';
import type { Json } from './json-schema.ts';

/** An entry of `x-codeSamples`, which the page /docs, Redoc and other tools show beside an operation. */
export interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

/**
 * The optional query parameters that the code samples of an operation must contain. Without these parameters, the
 * sample request would be invalid.
 */
const neededParameters: { [Op in OperationId]?: readonly string[] } = { findSimilarIdeas: ['title'] };

/** An example request of an operation: its required parameters and its body. */
interface ExampleRequest {
  method: string;
  path: string;
  pathParameters: unknown[];
  query: Record<string, string> | undefined;
  headers: Record<string, string>;
  body: unknown;
  needsToken: boolean;
}

/**
 * Writes the example request of an operation in TypeScript and for curl. The samples read the address of the server and
 * the token from environment variables, so the samples work with every server.
 */
export function codeSamples(parameters: Json[], route: Route, id: OperationId, body: unknown): CodeSample[] {
  const inPath = parameters.filter(parameter => parameter.in === 'path');
  const path = inPath.reduce((path, { name, example }) => path.replace(`:${name}`, String(example)), route.path);
  const { auth } = route.metadata as RouteMetadata;
  const request: ExampleRequest = {
    method: route.method,
    path,
    pathParameters: inPath.map(({ example }) => example),
    query: neededQuery(parameters, neededParameters[id]),
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(auth === 'tools' ? { Accept: 'application/json, text/event-stream' } : {}),
    },
    body,
    needsToken: auth !== 'none',
  };
  const method = methodOf(route.metadata as RouteMetadata);
  return [
    { lang: 'TypeScript', label: 'TypeScript', source: method ? callMethod(method, request) : callFetch(request) },
    { lang: 'Shell', label: 'curl', source: callCurl(request) },
  ];
}

/** Builds a query from the examples of the parameters with the given names. */
function neededQuery(parameters: Json[], names: readonly string[] | undefined): Record<string, string> | undefined {
  if (names === undefined) return undefined;
  const needed = parameters.filter(({ name }) => names.includes(String(name)));
  const exampleOf = ({ examples }: Json) => (examples as { example: { value: unknown } }).example.value;
  return Object.fromEntries(needed.map(parameter => [parameter.name, String(exampleOf(parameter))]));
}

/**
 * Returns the SDK's method for an operation. Returns undefined for the MCP endpoint, because agents call this endpoint
 * with an MCP client. The SDK's `request` would not be safe for this endpoint: `request` retries a POST request and
 * relies on the header `Idempotency-Key`, which the tools ignore.
 */
function methodOf(metadata: RouteMetadata): string | undefined {
  if (metadata.auth === 'tools') return undefined;
  return 'sdk' in metadata ? metadata.sdk : 'request';
}

function callMethod(name: string, { method, path, pathParameters, query, body }: ExampleRequest): string {
  const values = [...pathParameters, ...[query, body].filter(value => value !== undefined)];
  const given = name === 'request' ? [{ method, path }] : values;
  const call = `client.${name}(${given.map(literal).join(', ')})`;
  const isList = [
    'ideas.list',
    'ideas.comments',
    'ideas.votes',
    'ideas.notes',
    'webhooks.list',
    'webhooks.deliveries',
  ].includes(name);
  return `import { IdeaBoard } from '@idea-board/client';

const client = new IdeaBoard({
  baseUrl: process.env.IDEA_BOARD_URL ?? '',
  token: process.env.IDEA_BOARD_TOKEN ?? '',
});
${isList ? `for await (const item of ${call}) console.log(item);` : `const result = await ${call};`}`;
}

function callFetch({ method, path, headers, body }: ExampleRequest): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `${/^\w+$/.test(name) ? name : `'${name}'`}: '${value}',`,
  );
  return `const response = await fetch(\`\${process.env.IDEA_BOARD_URL}${path}\`, {
  method: '${method}',
  headers: {
    Authorization: \`Bearer \${process.env.IDEA_BOARD_TOKEN}\`,
    ${lines.join('\n    ')}
  },
  body: JSON.stringify(${literal(body).replaceAll('\n', '\n  ')}),
});
const result = await response.json();`;
}

function callCurl({ method, path, query, headers, body, needsToken }: ExampleRequest): string {
  // curl sends a POST request if there is a body, and otherwise a GET request.
  const isDefault = method === (body === undefined ? 'GET' : 'POST');
  const options = [
    ...(needsToken ? ['-H "Authorization: Bearer $IDEA_BOARD_TOKEN"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ];
  const search = query ? `?${new URLSearchParams(query)}` : '';
  return [`curl ${isDefault ? '' : `-X ${method} `}"$IDEA_BOARD_URL${path}${search}"`, ...options].join(' \\\n  ');
}

/** Writes a JSON value as TypeScript: on one line if it is short. */
function literal(value: unknown): string {
  const text = JSON.stringify(value, null, 2)
    .replace(/^( *)"(\w+)":/gm, '$1$2:')
    .replace(/"((?:[^"\\']|\\[^"])*)"/g, "'$1'");
  const short = text.replace(/\n */g, ' ');
  return short.length <= 60 ? short : text;
}
