import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { type EventBody, type EventType, events, eventTypes } from './events.ts';
import { excerptLength, keptEventDays, maxWaitSeconds, maxWaitsOfToken } from './limits.ts';
import { toJsonSchema } from './openapi/json-schema.ts';
import { defaultPerPage, queryInteger } from './pagination.ts';
import { BoardParameter, ConditionalHeaders, c, notModified, type RouteMetadata } from './routes.ts';
import { word } from './text.ts';

const anyEvent = z.union(Object.values(events));

/**
 * The body of any type of event. The schema checks nothing, because an earlier version of the server may have recorded
 * the event with fewer fields.
 */
const AnyEventBody = z.unknown().meta({
  openapi: {
    ...toJsonSchema(anyEvent, 'output'),
    description: 'Exactly the body that webhooks deliver.',
  },
}) as unknown as z.ZodType<EventBody, EventBody>;

const created = events['idea.created'].meta()?.examples as EventBody[];
const commented = events['comment.created'].meta()?.examples as EventBody[];

const ListedEvent = z
  .object({
    id: z.string().describe('The id of the event. Webhooks send it in the header `webhook-id`.'),
    cursor: z.string().describe('The cursor of the event. Pass it as `after` to get the later events.'),
    event: AnyEventBody,
  })
  .meta({ title: 'ListedEvent', description: 'An event with its id and its cursor.' });

const cursorExamples = [
  'AQAAAAAAAAABAAAAAAAAA-gI2a0c0AYfDkQAB6hXnGpLtQ',
  'AQAAAAAAAAABAAAAAAAAA-vx0wq20AYfDkQAB6hYa9LbVg',
];

export const EventList = z
  .object({
    data: z.array(ListedEvent).describe('The events, oldest first.'),
    has_more: z.boolean().describe('Whether there are more events now.'),
    next_cursor: z.string().describe('The value for `after` in the next request. The server always returns one.'),
  })
  .meta({
    title: 'EventList',
    description: 'Events of a board, oldest first.',
    examples: [
      {
        data: [
          { id: 'evt_08d9ad1c-6b3a-4f0c-9c3b-5a1f7a0f3c55', cursor: cursorExamples[0], event: created[0] },
          { id: 'evt_f1d30ab6-0f5e-4a51-8d5c-1d1f5f0f6f21', cursor: cursorExamples[1], event: commented[0] },
        ],
        has_more: false,
        next_cursor: cursorExamples[1],
      },
    ],
  });

/** A comma-separated list of event types. */
const EventTypes = z
  .string()
  .transform(text => [...new Set(text.split(','))])
  .pipe(z.array(z.enum(eventTypes as [EventType, ...EventType[]])).max(eventTypes.length))
  .meta({ openapi: { type: 'string' } });

export const listEvents = c.query({
  method: 'GET',
  path: '/api/v1/events',
  summary: 'List events',
  description: `Returns the events of the board from the last ${keptEventDays} days, oldest first. To follow the board, repeat the request with \`next_cursor\` as \`after\`. Each event then comes exactly once. Only a token with the \`moderate\` grant gets events of ideas that were pending at the time of the event. The server records the votes of the board only after a request with \`idea.voted\` in \`types\`, and stops ${keptEventDays} days after the last such request.`,
  query: z.strictObject({
    ...BoardParameter,
    after: word(100)
      .optional()
      .describe('Returns the events after this cursor. `now` skips earlier events.')
      .meta({ examples: ['now'] }),
    types: EventTypes.optional()
      .describe(
        `Returns only these types, separated by commas: ${eventTypes.map(type => `\`${type}\``).join(', ')}. By default, all but \`idea.voted\`.`,
      )
      .meta({ examples: ['idea.created,comment.created'] }),
    limit: queryInteger(1, 100)
      .optional()
      .describe(`The maximum number of events; ${defaultPerPage} by default.`)
      .meta({ examples: [2] }),
    wait: queryInteger(0, maxWaitSeconds)
      .optional()
      .describe(
        `Waits up to this number of seconds for an event. A token can have ${maxWaitsOfToken} waiting requests.`,
      )
      .meta({ examples: [0] }),
    body: z
      .enum(['full', 'excerpt'])
      .optional()
      .describe(`\`excerpt\` cuts the bodies of ideas to ${excerptLength} characters.`)
      .meta({ default: 'full', examples: ['excerpt'] }),
  }),
  headers: ConditionalHeaders,
  responses: {
    200: EventList,
    ...notModified,
    ...raises(...raisedBy.onBoard, 'cursor_expired', 'too_many_waits'),
  },
  metadata: {
    tag: 'Events',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    sdk: 'events.list',
    tool: {
      name: 'list_events',
      title: 'List events',
      description:
        'Lists the events of a board of the last 30 days, oldest first. To continue, pass next_cursor as after.',
      resultFields: ['data', 'has_more', 'next_cursor'],
      isDestructive: false,
      isIdempotent: true,
      defaults: { body: 'excerpt' },
    },
  } as const satisfies RouteMetadata,
});

export const eventRoutes = { listEvents };
