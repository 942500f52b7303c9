import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { Caller } from '../../client/caller.ts';
import type { IdeaCreatedEvent } from '../../client/contract.ts';
import {
  AbortError,
  type FollowedEvent,
  type FollowOptions,
  IdeaBoard,
  type IdeaBoardOptions,
  isIdeaBoardError,
} from '../../client/main.ts';
import { decodeEventCursor, encodeEventCursor } from '../../server/domain/events/event-cursor.ts';
import { createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { type Gateway, startGateway } from './gateway.ts';

let server: TestServer;
let gateway: Gateway;
let world: World;
let token: string;
let client: IdeaBoard;

beforeAll(async () => {
  server = await startServer();
  gateway = await startGateway(server.baseUrl);
});
beforeEach(async () => {
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'moderate'));
  client = new IdeaBoard({ baseUrl: server.baseUrl, token });
  gateway.requests.length = 0;
  waits = [];
  now = 0;
});
afterAll(async () => {
  await gateway.close();
  await server.close();
});

let waits: number[];
let now: number;

/**
 * Returns a client that connects through the gateway, which can simulate network faults. The client's simulated clock
 * advances only while the client waits.
 */
function impatientClient(options: Partial<IdeaBoardOptions> = {}): IdeaBoard {
  const given = { baseUrl: gateway.url, token, ...options };
  const environment = {
    now: () => now,
    random: () => 1,
    sleep: async (milliseconds: number) => {
      waits.push(milliseconds);
      now += milliseconds;
    },
  };
  return new IdeaBoard(given, new Caller(given, environment));
}

const titleOf = (event: FollowedEvent) => (event.type === 'idea.created' ? event.data.idea.title : event.type);
const create = (title: string) => client.ideas.create({ title, body: 'A body' });

/**
 * Follows the events of the board until the given number of events has arrived. Returns the title of each event's idea,
 * or the event's type if the event is not about a new idea.
 */
async function take(count: number, options: FollowOptions = {}, by = impatientClient()): Promise<string[]> {
  const titles: string[] = [];
  for await (const event of by.events.follow(options)) if (titles.push(titleOf(event)) === count) break;
  return titles;
}

describe('client.events.follow', () => {
  test('client.events.follow first returns the existing events and then waits for each later event', async () => {
    await create('1');
    await create('2');
    const following = take(4);
    await gateway.waitForRequests(2);
    await create('3');
    await gateway.waitForRequests(3);
    await create('4');
    expect(await following).toEqual(['1', '2', '3', '4']);
  });

  test('client.events.follow with `after=now` and a list of types returns only later events of these types', async () => {
    await create('Before');
    const following = take(1, { after: 'now', types: ['comment.created'] });
    await gateway.waitForRequests(2);
    const { id } = await create('Not of the type');
    await client.ideas.comment(id, { body: 'Of the type' });
    expect(await following).toEqual(['comment.created']);
  });

  test('client.events.follow calls onCursor with the cursor of an event after the loop has handled the event, and a later call can continue from this cursor', async () => {
    for (const title of ['1', '2', '3', '4']) await create(title);
    const story: string[] = [];
    let saved = '';
    const onCursor = async (cursor: string) => {
      await delay(1);
      saved = cursor;
      story.push('saved');
    };
    for await (const event of client.events.follow({ onCursor })) {
      story.push(titleOf(event));
      // Simulates a program that crashes while it handles the third event.
      if (titleOf(event) === '3') break;
    }
    expect(story).toEqual(['1', 'saved', '2', 'saved', '3']);
    expect(await take(2, { after: saved })).toEqual(['3', '4']);
  });

  test('if onCursor throws an error, client.events.follow throws this error', async () => {
    await create('1');
    const failing = async () => {
      for await (const _ of client.events.follow({
        onCursor() {
          throw new Error('The disk is full');
        },
      }));
    };
    await expect(failing()).rejects.toThrow('The disk is full');
  });

  test('client.events.follow continues after lost connections, broken responses, server errors and rate limits, and returns each event once', async () => {
    await create('1');
    const away = { status: 503, body: { error: { key: 'service_unavailable', message: 'Away.' } } };
    const limited = (key: string) => ({
      status: 429,
      headers: { 'retry-after': '300' },
      body: { error: { key, message: 'Slowly.' } },
    });
    gateway.plan(...Array(30).fill(away), 'break', 'pass', 'lose the answer', 'break off', 'pass');
    const patient = impatientClient();
    const titles: string[] = [];
    for await (const event of patient.events.follow()) {
      titles.push(titleOf(event));
      if (titles.length === 1) {
        await create('2');
        gateway.plan(limited('rate_limited'), limited('too_many_waits'), { status: 502, body: 'Bad gateway' });
      } else if (titles.length === 2) await create('3');
      else break;
    }
    expect(titles).toEqual(['1', '2', '3']);
    // The server asked for these waits with Retry-After.
    expect(waits.filter(one => one === 300_000)).toHaveLength(2);
    expect(Math.max(...waits)).toBe(300_000);
  });

  test('while the server cannot be reached, client.events.follow tries again after delays that grow to 30 seconds', async () => {
    await create('1');
    gateway.plan(...Array(40).fill('break'));
    expect(await take(1)).toEqual(['1']);
    expect(Math.max(...waits)).toBe(30_000);
  });

  test('client.events.follow sends at most one request a second, but reads the next page immediately if more events exist', async () => {
    const all = Array.from({ length: 101 }, (_, n) => String(n));
    for (const title of all) await create(title);
    expect(await take(101)).toEqual(all);
    expect([gateway.requests.length, waits]).toEqual([2, []]);
    const busy = take(3, { after: 'now' });
    await gateway.waitForRequests(4);
    for (const title of ['a', 'b', 'c']) {
      const { length } = gateway.requests;
      await create(title);
      if (title !== 'c') await gateway.waitForRequests(length + 1);
    }
    expect(await busy).toEqual(['a', 'b', 'c']);
    expect(waits).toEqual([1_000, 1_000, 1_000]);
  });

  test("client.events.follow asks the server to wait for events until five seconds before the client's timeout, but for at most 55 seconds", async () => {
    await create('1');
    const waitOf = async (options: Partial<IdeaBoardOptions>) => {
      await take(1, {}, impatientClient(options));
      return new URL(gateway.requests.at(-1)?.path ?? '', gateway.url).searchParams.get('wait');
    };
    expect(await waitOf({})).toBe('25');
    expect(await waitOf({ timeoutMs: 90_000 })).toBe('55');
    expect(await waitOf({ timeoutMs: 90_000, totalTimeoutMs: 20_000 })).toBe('15');
    expect(await waitOf({ timeoutMs: 2_000 })).toBe('0');
  });

  test('client.events.follow throws an AbortError if its signal is aborted during a wait or between two events', async () => {
    await create('1');
    await create('2');
    const stopping = new AbortController();
    const seen: string[] = [];
    const following = async (signal: AbortSignal, stopAt?: string) => {
      for await (const event of client.events.follow({ signal })) {
        seen.push(titleOf(event));
        if (titleOf(event) === stopAt) stopping.abort();
      }
    };
    await expect(following(stopping.signal, '1')).rejects.toBeInstanceOf(AbortError);
    expect(seen).toEqual(['1']);
    const waiting = new AbortController();
    const ended = following(waiting.signal);
    await expect.poll(() => seen).toEqual(['1', '1', '2']);
    await delay(100);
    waiting.abort();
    await expect(ended).rejects.toMatchObject({ key: 'aborted', operation: 'listEvents' });
  });

  test('client.events.follow throws the matching error for an expired cursor, an invalid cursor, a revoked token and invalid options', async () => {
    await create('1');
    const { next_cursor } = await client.events.list();
    const cursor = decodeEventCursor(next_cursor);
    if (!cursor) throw new Error('The cursor is invalid');
    const keyOf = (options: FollowOptions) =>
      take(1, options).catch((error: unknown) => (isIdeaBoardError(error, 'listEvents') ? error.key : error));
    expect(await keyOf({ after: encodeEventCursor({ ...cursor, hour: 1 }) })).toBe('cursor_expired');
    expect(await keyOf({ after: 'nonsense' })).toBe('validation_failed');
    await server.sql('update api_tokens set revoked_at = now() where account_id = $1', [world.accountId]);
    expect(await keyOf({})).toBe('unauthorized');
    await expect(take(1, { onCursor: 'save' as never })).rejects.toThrow('The option "onCursor" must be a function');
    await expect(take(1, { types: 'idea.created' as never })).rejects.toThrow('must be an array of event types');
    await expect(take(1, { cursor: 'x' } as never)).rejects.toThrow('The option "cursor" does not exist');
  });

  test('if the client does not know the type of an event, client.events.follow returns the event with the type "unknown" and its whole body', async () => {
    await create('1');
    gateway.plan(answer => {
      answer.body.data[0].event.type = 'idea.from_the_future';
    });
    const [event] = [await impatientClient().events.follow().next()];
    expect(event.value).toMatchObject({
      type: 'unknown',
      id: expect.stringMatching(/^evt_/),
      cursor: expect.any(String),
      body: { type: 'idea.from_the_future', data: { idea: { title: '1' } } },
    });
  });

  test('if a program checks the type of a followed event, TypeScript knows the fields of this type of event', () => {
    type Created = Extract<FollowedEvent, { type: 'idea.created' }>;
    expectTypeOf<Created['data']>().toEqualTypeOf<IdeaCreatedEvent['data']>();
    expectTypeOf<Created['cursor']>().toEqualTypeOf<string>();
  });
});

test('client.events.list returns one page of events and can filter the events by type', async () => {
  await client.events.list({ types: ['idea.voted'] });
  await create('1');
  const { id } = await create('2');
  await client.ideas.vote(id, { value: 'up' });
  const page = await client.events.list({ limit: 1, types: ['idea.created'] });
  expect(page).toMatchObject({ data: [{ event: { data: { idea: { title: '1' } } } }], has_more: true });
  const next = await client.events.list({ after: page.next_cursor, types: ['idea.created', 'idea.voted'] });
  expect(next.data.map(({ event }) => event.type)).toEqual(['idea.created', 'idea.voted']);
});
