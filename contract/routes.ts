import { type AppRoute, initContract } from '@ts-rest/core';
import { z } from 'zod';
import type { Grant } from './grants.ts';
import type { Bucket } from './limits.ts';
import { word } from './text.ts';

/** Builds routes. Other files import ts-rest's names from here. */
export const c: ReturnType<typeof initContract> = initContract();

/** A route of the contract: plain data, with its schemas and its metadata. */
export type Route = AppRoute;

/** The body of a request or an answer without one. */
export const noBody: ReturnType<typeof c.noBody> = c.noBody();

/** A route as a tool of POST /api/v1/mcp. Its arguments are the route's parameters and the fields of its body. */
export interface ToolMetadata {
  name: string;
  /** What people are shown. */
  title: string;
  /** For a model that has never seen the product: what the tool is for, when it is not, and what its limits are. */
  description: string;
  /** Whether it undoes or replaces what somebody else may have done, so that a client had better ask. */
  isDestructive: boolean;
  /** Whether calling it again changes nothing more. */
  isIdempotent: boolean;
}

/** What the server must know of a route before it reads the request's body; ts-rest carries it as metadata. */
export type RouteMetadata = {
  /** The heading under which the OpenAPI document lists the operation. */
  tag: 'Board' | 'Ideas' | 'Comments' | 'Votes' | 'Moderation' | 'Token' | 'Tools' | 'Probes';
} & (
  | { auth: 'none' /** Whether the per-IP limit guards the route. */; isLimitedPerIp: boolean }
  /** A token of any grant, or an access token of OAuth; a call is admitted as the route of its tool is. */
  | { auth: 'tools' }
  /** A token of any grant; charges no bucket. */
  | { auth: 'token'; tool: ToolMetadata }
  | {
      auth: 'board';
      grant: Grant;
      bucket: Bucket;
      /** A query parameter whose presence needs a higher grant. */
      grantByQuery?: Readonly<Record<string, Grant>>;
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

/** No parameter at all, in a type that lets a client leave the query away. */
export const NoQuery: z.ZodType<Nothing, Nothing> = z.strictObject({});

/** For a POST: a key of the client's choosing under which a repeated request is answered once. */
export const IdempotencyHeaders = {
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'Must be 1 to 255 printable ASCII characters without spaces')
    .optional()
    .describe(
      'A key of your choosing, unique for each intended write. A repeated request with the same key within 24 hours is answered with the first answer and `Idempotency-Replayed: true`, and changes nothing.',
    )
    .meta({
      openapi: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
      examples: ['8f0a2b1e-5c1d-4f7a-9a53-2f9d5b6f0c11'],
    }),
};

/** What an `ETag` looks like. */
export const etagExample = 'W/"2jmj7l5rSw0yVb_vlWAYkK_YBwk"';

/** For a GET: the validator of an answer that the client already has. */
export const ConditionalHeaders = {
  'if-none-match': z
    .string()
    .optional()
    .describe('The `ETag` of an earlier answer; a match answers 304.')
    .meta({ examples: [etagExample] }),
};

/** The answer to a matching If-None-Match. Charges no bucket. */
export const notModified = { 304: noBody } as const;
