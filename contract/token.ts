import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Capability, Grant } from './grants.ts';
import { people } from './idea.ts';
import { Id } from './identifiers.ts';
import { c, NoQuery, type RouteMetadata } from './routes.ts';
import { Timestamp, userText } from './text.ts';

const BucketState = z
  .object({
    limit: z.int().min(0).describe('Requests allowed per window.'),
    remaining: z.int().min(0).describe('Requests left in the current window.'),
    reset: z.int().min(0).describe('Seconds until the window ends.'),
  })
  .meta({ title: 'BucketState', description: 'The state of one rate limit of a token.' });

export const Token = z
  .object({
    id: Id,
    name: z.string().describe('The name that the issuer gave the token.'),
    account: z.object({ id: Id, name: z.string() }).describe('The account of the token.'),
    issuer: z.object({ id: Id, name: userText }).describe('The user who issued the token.'),
    boards: z
      .array(
        z.object({
          id: Id,
          slug: z.string(),
          name: z.string(),
          grant: Grant,
          is_moderate_effective: z
            .boolean()
            .describe('Whether the token can moderate now: its grant is `moderate`, and its issuer is a moderator.'),
        }),
      )
      .describe('The boards of the token, each with its grant.'),
    capabilities: z
      .array(Capability)
      .describe('The capabilities that the token can use now. Empty while its issuer is neither owner nor admin.'),
    expires_at: Timestamp.nullable().describe('When the token expires; null: never.'),
    secret_expires_at: Timestamp.nullable().describe(
      'When the secret of this request stops working, because the token has a newer secret; null: this is the newest secret.',
    ),
    buckets: z
      .object({ 'apitoken:read': BucketState, 'apitoken:write': BucketState })
      .describe('The state of the two rate limits of the token.'),
  })
  .meta({
    title: 'Token',
    description: 'A token with its boards, grants and limits.',
    examples: [
      {
        id: 5,
        name: 'Release notes bot',
        account: { id: 1, name: 'Tidewater' },
        issuer: people.ada,
        boards: [{ id: 1, slug: 'web-app', name: 'Web app', grant: 'moderate', is_moderate_effective: true }],
        capabilities: ['manage_webhooks'],
        expires_at: null,
        secret_expires_at: null,
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
  description:
    'Returns the token: its boards and grants, and the state of its rate limits. Does not count against a rate limit.',
  query: NoQuery,
  responses: { 200: Token, ...raises(...raisedBy.authenticated) },
  metadata: {
    tag: 'Token',
    auth: 'token',
    sdk: 'token.get',
    tool: {
      name: 'whoami',
      title: 'See boards, grants and limits',
      description:
        'Shows the user you act for, the boards with their slugs and grants (read, write, moderate), and how many reads and writes are left. Call it first, and again after a refusal because of a board, a grant or a limit. It counts against no limit.',
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const tokenRoutes = { getToken };
