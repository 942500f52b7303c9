import { type AppRoute, initContract } from '@ts-rest/core';
import { z } from 'zod';
import type { ErrorMeanings } from './errors.ts';
import type { Grant } from './grants.ts';
import type { Bucket } from './limits.ts';
import { word } from './text.ts';

/** Builds routes. Other files import ts-rest's names from here. */
export const c: ReturnType<typeof initContract> = initContract();

/** A route of the contract: plain data, with its schemas and its metadata. */
export type Route = AppRoute;

/** The body of a request or a response that has no body. */
export const noBody: ReturnType<typeof c.noBody> = c.noBody();

/** Describes a route as a tool of POST /api/v1/mcp. The tool's arguments are the route's parameters and body fields. */
export interface ToolMetadata {
  name: string;
  /** The name that clients show to people. */
  title: string;
  /** For a model that does not know the product: the tool's purpose, when not to use it, and its limits. */
  description: string;
  /** Whether the tool undoes or replaces the work of other people, so that a client should ask first. */
  isDestructive: boolean;
  /** Whether a repeated call changes nothing. */
  isIdempotent: boolean;
}

/** The facts that the server needs before it reads the request's body. ts-rest carries them as metadata. */
export type RouteMetadata = {
  /** The operation's tag in the OpenAPI document. */
  tag: 'Board' | 'Ideas' | 'Comments' | 'Votes' | 'Moderation' | 'Token' | 'Tools' | 'Probes';
} & (
  | { auth: 'none' /** Whether the per-IP limit guards the route. */; isLimitedPerIp: boolean }
  /** A token of any grant, or an OAuth access token. Each tool call is admitted like a request for its route. */
  | { auth: 'tools' }
  /** A token of any grant. Does not count against a rate limit. */
  | { auth: 'token'; tool: ToolMetadata }
  | {
      auth: 'board';
      grant: Grant;
      bucket: Bucket;
      /** A query parameter whose presence needs a higher grant. */
      grantByQuery?: Readonly<Record<string, Grant>>;
      /** The meanings of error keys that differ on this route. */
      meanings?: ErrorMeanings;
      tool: ToolMetadata;
    }
);

export const BoardParameter = {
  board: word(63)
    .optional()
    .describe('The slug of the board. Required when the token grants more than one board.')
    .meta({ examples: ['web-app'] }),
};

export const BoardQuery = z.strictObject(BoardParameter);

type Nothing = Partial<Record<never, never>>;

/** No parameters. The type lets a client omit the query. */
export const NoQuery: z.ZodType<Nothing, Nothing> = z.strictObject({});

/** For a POST: a key that the client chooses. The server runs repeated requests with one key only once. */
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

/** For a GET: the ETag of a response that the client already has. */
export const ConditionalHeaders = {
  'if-none-match': z
    .string()
    .optional()
    .describe('The `ETag` of an earlier response. If it still matches, the response is 304.')
    .meta({ examples: [etagExample] }),
};

/** The response to a matching If-None-Match. Does not count against the rate limit. */
export const notModified = { 304: noBody } as const;
