import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Grant } from './grants.ts';
import { people } from './idea.ts';
import { Id } from './identifiers.ts';
import { c, NoQuery, type RouteMetadata } from './routes.ts';
import { Timestamp } from './text.ts';

const BucketState = z
  .object({
    limit: z.int().min(0).describe('Requests in a window.'),
    remaining: z.int().min(0).describe('Requests left in the current window.'),
    reset: z.int().min(0).describe('Seconds until the window ends.'),
  })
  .meta({ title: 'BucketState', description: 'Where a token stands in a rate-limit bucket.' });

export const Token = z
  .object({
    id: Id,
    name: z.string().describe('What its issuer called it.'),
    account: z.object({ id: Id, name: z.string() }).describe('The account to which it belongs.'),
    issuer: z.object({ id: Id, name: z.string() }).describe('The user who issued the token.'),
    boards: z
      .array(
        z.object({
          id: Id,
          slug: z.string(),
          name: z.string(),
          grant: Grant,
          is_moderate_effective: z
            .boolean()
            .describe(
              'Whether moderator actions are allowed now: the grant is `moderate` and the issuer is a moderator.',
            ),
        }),
      )
      .describe('The boards that it grants, each at its level.'),
    expires_at: Timestamp.nullable().describe('When it ends; null: never.'),
    buckets: z
      .object({ 'apitoken:read': BucketState, 'apitoken:write': BucketState })
      .describe('Where it stands in its two rate-limit buckets.'),
  })
  .meta({
    title: 'Token',
    description: 'Who a token is and what it may do.',
    examples: [
      {
        id: 5,
        name: 'Release notes bot',
        account: { id: 1, name: 'Tidewater' },
        issuer: people.ada,
        boards: [{ id: 1, slug: 'web-app', name: 'Web app', grant: 'moderate', is_moderate_effective: true }],
        expires_at: null,
        buckets: {
          'apitoken:read': { limit: 120, remaining: 118, reset: 41 },
          'apitoken:write': { limit: 20, remaining: 20, reset: 1180 },
        },
      },
    ],
  });

export const getToken = c.query({
  method: 'GET',
  path: '/api/v1/token',
  summary: 'Get the token itself',
  description: 'Answers who the token is: its boards and levels, and where it stands in its limits. Charges no bucket.',
  query: NoQuery,
  responses: { 200: Token, ...raises(...raisedBy.authenticated) },
  metadata: {
    tag: 'Token',
    auth: 'token',
    tool: {
      name: 'get_token',
      title: 'See boards, levels and limits',
      description:
        'Says who you act for and what you may do: the boards that the token grants, by the slugs that the board argument of the other tools takes, each at its level (read, write or moderate); the user in whose name you write; and how many reads and writes are left until the limits reset. Call it first when you do not know the boards, and when a call was refused for its board, its grant or a limit. It counts as neither a read nor a write.',
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const tokenRoutes = { getToken };
