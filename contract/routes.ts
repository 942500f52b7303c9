import { type AppRoute, initContract } from '@ts-rest/core';
import { z } from 'zod';
import type { Deprecation } from './deprecation.ts';
import type { ErrorMeanings } from './errors.ts';
import type { Capability, Grant, GrantByQuery } from './grants.ts';
import type { Bucket } from './limits.ts';
import { word } from './text.ts';

/** The builder of routes. Other files use ts-rest only through this file. */
export const c: ReturnType<typeof initContract> = initContract();

/** A route of the contract as plain data, with its schemas and its metadata. */
export type Route = AppRoute;

/** Stands for the missing body of a request or a response. */
export const noBody: ReturnType<typeof c.noBody> = c.noBody();

/** Describes a route as a tool of POST /api/v1/mcp. The tool's arguments are the route's parameters and body fields. */
export interface ToolMetadata {
  name: string;
  /** The name of the tool that clients show to people. */
  title: string;
  /**
   * The description of the tool for language models that do not know the product: its purpose, its alternatives and its
   * limits.
   */
  description: string;
  /**
   * The names of the result fields that the tool's output schema describes, at any depth. The result may have further
   * fields. Without this property, the output schema describes all fields.
   */
  resultFields?: readonly string[];
  /** Whether the tool undoes or replaces the work of other people. If so, a client should ask the user first. */
  isDestructive: boolean;
  /** Whether a repeated call has no further effect. */
  isIdempotent: boolean;
  /** The default values of the tool's arguments, where they differ from the default values of the REST request. */
  defaults?: Readonly<Record<string, unknown>>;
}

/** How agents and programs use a route. */
interface Uses {
  tool: ToolMetadata;
  /** The method of the SDK, such as `ideas.vote`. */
  sdk: string;
}

/** The metadata of a route in ts-rest. The server uses the metadata before it reads the body of a request. */
export type RouteMetadata = {
  /** The tag of the operation in the OpenAPI document. */
  tag:
    | 'Board'
    | 'Ideas'
    | 'Comments'
    | 'Votes'
    | 'Events'
    | 'Moderation'
    | 'Notes'
    | 'Webhooks'
    | 'Token'
    | 'Tools'
    | 'Probes';
  /** The announcement that the operation will be removed. The operation must work until its removal. */
  deprecated?: Deprecation;
} & (
  | { auth: 'none' /** Whether requests count against the rate limit of their IP address. */; isLimitedPerIp: boolean }
  /**
   * The route accepts a token with any grant, or an OAuth access token. The server checks each tool call like a REST
   * request to the route of the called operation.
   */
  | { auth: 'tools' }
  /**
   * The route accepts a token with any grant. Requests to this route do not count against the rate limits of the token.
   */
  | ({ auth: 'token' } & Uses)
  | ({
      auth: 'board';
      grant: Grant;
      bucket: Bucket;
      /** The query parameters that need a higher grant than the route, either always or only with certain values. */
      grantByQuery?: GrantByQuery;
      /** The capability that the token needs besides the grant. */
      capability?: Capability;
      /** The meanings of error keys on this route, if they differ from the usual meanings. */
      meanings?: ErrorMeanings;
    } & Uses)
);

export const BoardParameter = {
  board: word(63)
    .optional()
    .describe('The slug of the board. Required when the token grants more than one board.')
    .meta({ examples: ['web-app'] }),
};

export const BoardQuery = z.strictObject(BoardParameter);

type Nothing = Partial<Record<never, never>>;

/** The query of a route without parameters. With this type, a client can omit the query. */
export const NoQuery: z.ZodType<Nothing, Nothing> = z.strictObject({});

/**
 * The Idempotency-Key header of a POST request. Within 24 hours, the server executes only one of the requests with the
 * same token, path and key.
 */
export const IdempotencyHeaders = {
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'Must be 1 to 255 printable ASCII characters without spaces')
    .optional()
    .describe(
      'A key that you choose, unique for each intended write. If you repeat a request with the same key within 24 hours, nothing changes: you get the first response again, with `Idempotency-Replayed: true`.',
    )
    .meta({
      openapi: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
      examples: ['8f0a2b1e-5c1d-4f7a-9a53-2f9d5b6f0c11'],
    }),
};

export const etagExample = 'W/"2jmj7l5rSw0yVb_vlWAYkK_YBwk"';

/** The If-None-Match header of a GET request. It has the ETag of a response that the client already has. */
export const ConditionalHeaders = {
  'if-none-match': z
    .string()
    .optional()
    .describe('The `ETag` of an earlier response. If it still matches, the response is 304.')
    .meta({ examples: [etagExample] }),
};

/**
 * The response to a request whose If-None-Match header contains the current ETag. This request does not count against
 * the token's rate limit.
 */
export const notModified = { 304: noBody } as const;
