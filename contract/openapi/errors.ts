import { z } from 'zod';
import { adviceFor } from '../advice.ts';
import { type ErrorKey, errors, type ValidationIssue } from '../errors.ts';
import { jsonRpcCode } from '../tools.ts';
import { refer } from './examples.ts';
import type { Json } from './json-schema.ts';

interface ErrorSchema {
  properties?: { error?: { properties: { key: { enum: ErrorKey[] } } }; jsonrpc?: unknown };
}

/** What of a route decides which requests are not valid. */
interface Inputs {
  query?: unknown;
  body?: unknown;
}

/**
 * Gives the body of an error a name of its own, by its key where it has one alone, else by operation and status, and
 * an example for each of its keys.
 */
export function describeError(
  response: Json,
  nameOfSeveral: string,
  inputs: Inputs,
  components: { errorSchemas: Json; examples: Json },
) {
  const mediaType = (response.content as { [type: string]: Json } | undefined)?.['application/json'];
  const schema = mediaType?.schema as ErrorSchema | undefined;
  const keys = schema?.properties?.error?.properties.key.enum;
  if (!mediaType || !keys) return;
  const isJsonRpc = schema.properties?.jsonrpc !== undefined;
  const [first = ''] = keys;
  const nameOfOne = `${first.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Error`;
  const name = keys.length === 1 && !isJsonRpc ? nameOfOne : nameOfSeveral;
  components.errorSchemas[name] = { title: name, ...schema };
  mediaType.schema = { $ref: `#/components/schemas/${name}` };
  mediaType.examples = Object.assign(
    {},
    ...keys.map(key => (isJsonRpc ? jsonRpcExample(key, inputs) : errorExample(key, inputs, components.examples))),
  );
}

/** What is not valid is the query: the body is a message, which the protocol judges. */
function jsonRpcExample(key: ErrorKey, { query }: Inputs): Json {
  const { meaning } = errors[key];
  const found = key === 'validation_failed' ? { issues: issuesOf({ query }) } : {};
  const error = {
    key,
    message: meaning,
    ...found,
    code: jsonRpcCode(key),
    data: { key, ...found, advice: adviceFor(key) },
  };
  return { [key]: { summary: meaning, value: { jsonrpc: '2.0', id: null, error } } };
}

/** The very body that the server sends with a key. What is not valid differs from one request body to another. */
function errorExample(key: ErrorKey, inputs: Inputs, components: Json): Json {
  const { meaning } = errors[key];
  if (key !== 'validation_failed') {
    return refer({ [key]: { summary: meaning, value: { error: { key, message: meaning } } } }, components);
  }
  const example = { summary: meaning, value: { error: { key, message: meaning, issues: issuesOf(inputs) } } };
  return inputs.body instanceof z.ZodType ? { [key]: example } : refer({ [key]: example }, components);
}

/** What the contract says to an empty body, or without a body to a query parameter that does not exist. */
function issuesOf({ query, body }: Inputs): ValidationIssue[] {
  const part = body instanceof z.ZodType ? 'body' : 'query';
  const schema = body instanceof z.ZodType ? body : (query as z.ZodType);
  const { error } = schema.safeParse(part === 'body' ? {} : { colour: 'blue' });
  return (error?.issues ?? []).map(({ path, code, message }) => ({
    path: [part, ...(path as (string | number)[])],
    code,
    message,
  }));
}
