import { z } from 'zod';
import { adviceFor } from '../advice.ts';
import {
  type DetailsOf,
  type ErrorKey,
  type ErrorMeanings,
  errorDetails,
  errors,
  issuesIn,
  meaningOf,
  messageWith,
  type ValidationIssue,
} from '../errors.ts';
import { jsonRpcCode } from '../tools.ts';
import { refer } from './examples.ts';
import type { Json } from './json-schema.ts';

interface ErrorSchema {
  properties?: { error?: { properties: { key: { enum: ErrorKey[]; description?: string } } }; jsonrpc?: unknown };
}

/** The parts of a route that determine the description of its errors. */
interface Raising {
  query?: unknown;
  body?: unknown;
  metadata?: unknown;
}

function meaningOn(route: Raising, key: ErrorKey): string {
  return meaningOf(key, (route.metadata as { meanings?: ErrorMeanings }).meanings);
}

/** Explains error keys in Markdown. Several keys become a list. */
function explain(keys: ErrorKey[], route: Raising): string {
  const explanations = keys.map(key => `\`${key}\`: ${meaningOn(route, key)}`);
  return explanations.length === 1 ? explanations.join() : explanations.map(one => `- ${one}`).join('\n');
}

/**
 * Explains the error keys of a response, names the response's schema, and adds an example for each error key. A schema
 * with one error key is named after the key. Other schemas are named after the operation and the status.
 */
export function describeError(
  response: Json,
  nameOfSeveral: string,
  route: Raising,
  components: { errorSchemas: Json; examples: Json },
) {
  const mediaType = (response.content as { [type: string]: Json } | undefined)?.['application/json'];
  const schema = mediaType?.schema as ErrorSchema | undefined;
  const key = schema?.properties?.error?.properties.key;
  if (!mediaType || !key) return;
  const keys = key.enum;
  key.description = explain(keys, route);
  response.description = key.description;
  const isJsonRpc = schema.properties?.jsonrpc !== undefined;
  const [first = ''] = keys;
  const nameOfOne = `${first.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Error`;
  const name = keys.length === 1 && !isJsonRpc ? nameOfOne : nameOfSeveral;
  components.errorSchemas[name] = { title: name, ...schema };
  mediaType.schema = { $ref: `#/components/schemas/${name}` };
  mediaType.examples = Object.assign(
    {},
    ...keys.map(one => (isJsonRpc ? jsonRpcExample(one, route) : errorExample(one, route, components.examples))),
  );
}

/**
 * Returns an example of a JSON-RPC error. The example of validation_failed is about the query, because an invalid body
 * gets other JSON-RPC errors.
 */
function jsonRpcExample(key: ErrorKey, route: Raising): Json {
  const { message, ...facts } = exampleFacts(key, { ...route, body: undefined });
  const data = { key, ...facts, advice: adviceFor(key) };
  const error = { key, message, ...facts, code: jsonRpcCode(key), data };
  return { [key]: { summary: meaningOn(route, key), value: { jsonrpc: '2.0', id: null, error } } };
}

/**
 * Returns an example of the body that the server sends with an error key. The issues of validation_failed depend on the
 * schema of the request.
 */
function errorExample(key: ErrorKey, route: Raising, components: Json): Json {
  const meaning = meaningOn(route, key);
  const example = { [key]: { summary: meaning, value: { error: { key, ...exampleFacts(key, route) } } } };
  const isOfRoute = key === 'validation_failed' || meaning !== errors[key].meaning;
  return isOfRoute ? example : refer(example, components);
}

/** Returns the message of an error, its issues and its details, as in an answer of the server. */
function exampleFacts(key: ErrorKey, route: Raising) {
  const schema = errorDetails[key as keyof typeof errorDetails] as z.ZodObject | undefined;
  const [details] = (schema?.meta()?.examples ?? []) as unknown[];
  return {
    message: messageWith(key, details as DetailsOf<ErrorKey>) ?? meaningOn(route, key),
    ...(key === 'validation_failed' ? { issues: issuesOf(route) } : {}),
    ...(details ? { details } : {}),
  };
}

/** Returns example issues: the issues of an empty body, or of an unknown query parameter if there is no body. */
function issuesOf({ query, body }: Pick<Raising, 'query' | 'body'>): ValidationIssue[] {
  const part = body instanceof z.ZodType ? 'body' : 'query';
  const schema = body instanceof z.ZodType ? body : (query as z.ZodType);
  // An edit accepts an empty body, because each of its fields is optional.
  const isEmptyValid = schema.safeParse({}).success;
  const { error } = schema.safeParse(isEmptyValid ? { colour: 'blue' } : {});
  return issuesIn([part], error, schema);
}
