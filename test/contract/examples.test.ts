import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { commentExamples } from '../../contract/comments.ts';
import { type ErrorKey, type ErrorMeanings, errorDetails, meaningOf } from '../../contract/errors.ts';
import { events, TestEvent } from '../../contract/events.ts';
import { ideaExamples } from '../../contract/idea.ts';
import { contract } from '../../contract/index.ts';
import { noteExamples } from '../../contract/notes.ts';
import type { Route } from '../../contract/routes.ts';
import { statusOfCategory } from '../../contract/status.ts';
import { DomainError } from '../../server/domain/domain-error.ts';
import { createTag, createUser, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { lintWithRedocly, lintWithSpectral } from '../helpers/openapi-linters.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';

const committed = await readFile(new URL('../../contract/openapi.json', import.meta.url), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: the document is read as untyped JSON.
type Any = any;
const document: Any = JSON.parse(committed);

interface DocumentedOperation {
  id: string;
  method: string;
  path: string;
  operation: Any;
  route: Route;
}

const operations: DocumentedOperation[] = Object.entries<Any>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Any>(methods).map(([method, operation]) => ({
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    operation,
    route: contract[operation.operationId as keyof typeof contract] as Route,
  })),
);

/** Returns the examples of a body by name, with references resolved. */
function examplesOf(holder: Any): Record<string, { summary: string; value: Any }> {
  const { examples } = holder.content['application/json'];
  const followed = Object.entries<Any>(examples).map(([name, { $ref, ...inline }]) => {
    const component = $ref?.replace('#/components/examples/', '');
    return [name, component === undefined ? inline : document.components.examples[component]];
  });
  return Object.fromEntries(followed);
}

/** Returns the examples of the parameters in one place of the request, such as "query". */
function parametersIn(place: string, { operation }: DocumentedOperation): Record<string, Any> {
  const found = operation.parameters
    .filter((parameter: Any) => parameter.in === place)
    .map(({ name, example, examples }: Any) => [name, example ?? examples?.example.value])
    .filter(([, value]: [string, unknown]) => value !== undefined);
  return Object.fromEntries(found);
}

describe.each(operations)('the examples of $id', documented => {
  const { operation, route } = documented;

  test("the examples of an operation's parameters and body match the schemas of the operation", () => {
    const headers = parametersIn('header', documented);
    for (const [name, value] of Object.entries(headers)) {
      (route.headers as Record<string, z.ZodType>)[name]?.parse(value);
    }
    (route.pathParams as z.ZodType | undefined)?.parse(parametersIn('path', documented));
    ((route.query as z.ZodType | undefined) ?? z.strictObject({})).parse(parametersIn('query', documented));
    for (const { required, examples } of operation.parameters) {
      // Without `x-disabled`, the page at /docs includes an optional parameter in every example request.
      if (!required && examples) expect(examples.example['x-disabled']).toBe(true);
    }
    const without = operation.parameters.filter(({ example, examples }: Any) => (example ?? examples) === undefined);
    // These parameters have no example. A request with `ids` or `cursor` must not have the other parameters of the
    // example, and `expand` would add fields to the example responses.
    const exempt = ['cursor', 'ids', 'expand', 'of'];
    expect(without.map(({ name }: Any) => name).filter((name: string) => !exempt.includes(name))).toEqual([]);
    if (!operation.requestBody) return;
    const bodies = Object.values(examplesOf(operation.requestBody));
    expect(bodies.length).toBeGreaterThan(0);
    for (const { value } of bodies) expect((route as { body: z.ZodType }).body.parse(value)).toEqual(value);
  });

  test('each response with a body has examples in the OpenAPI document, and they match the schema and have a summary', () => {
    for (const [status, response] of Object.entries<Any>(operation.responses)) {
      if (!response.content) continue;
      const examples = Object.values(examplesOf(response));
      expect(examples.length).toBeGreaterThan(0);
      for (const { summary, value } of examples) {
        expect(summary).toMatch(/\S/);
        expect((route.responses[Number(status)] as z.ZodType).parse(value)).toEqual(value);
      }
    }
  });

  test('each error key of an operation has an example with exactly the message that the server sends', () => {
    for (const response of Object.values<Any>(operation.responses)) {
      const { $ref } = response.content?.['application/json'].schema ?? {};
      const schema = document.components.schemas[$ref?.split('/').at(-1)];
      const keys: ErrorKey[] | undefined = schema?.properties.error?.properties.key?.enum;
      if (!keys) continue;
      const examples = examplesOf(response);
      const { meanings } = route.metadata as { meanings?: ErrorMeanings };
      expect(Object.keys(examples)).toEqual(keys);
      for (const key of keys) {
        const { value, summary } = examples[key] ?? { value: {}, summary: 'No example' };
        const { details } = value.error;
        expect([key, summary]).toEqual([key, meaningOf(key, meanings)]);
        expect(value.error).toMatchObject({ key, message: new DomainError(key, { details, meanings }).message });
        expect(details === undefined).toBe(!(key in errorDetails));
        if (details) expect(errorDetails[key as keyof typeof errorDetails].safeParse(details).success).toBe(true);
      }
    }
  });
});

test.each([...Object.values(events), TestEvent].map(schema => ({ type: schema.shape.type.value, schema })))(
  'the OpenAPI document has exactly one example of the webhook $type, and the example matches the schema of the event',
  ({ type, schema }) => {
    const examples = Object.values(examplesOf(document.webhooks[type].post.requestBody));
    expect(examples).toHaveLength(1);
    for (const { value } of examples) expect(schema.parse(value)).toEqual(value);
  },
);

test('every shared response header in the OpenAPI document (components.headers) has an example that matches its schema', () => {
  for (const { schema, example, examples } of Object.values<Any>(document.components.headers)) {
    const values = examples ? Object.values<Any>(examples).map(({ value }) => value) : [example];
    for (const value of values) z.fromJSONSchema(schema).parse(value);
  }
});

test('the examples in components.examples of the OpenAPI document use only two people, two boards and two ideas', () => {
  const objects = [...nested(document.components.examples)];
  const ideas = objects.filter(({ status_category }) => status_category !== undefined);
  expect(ideas.length).toBeGreaterThan(15);
  const titles = { 42: 'Export a board as CSV', 57: 'Download all ideas as a spreadsheet' };
  const people = { 7: 'Ada Osei', 12: 'Jun Park' };
  for (const idea of ideas) {
    expect(idea.title).toBe(titles[idea.id as 42]);
    expect(idea.status).toBe(statusOfCategory[idea.status_category as 'inbox']);
    expect([null, 42]).toContain(idea.merged_into_id);
    expect(idea.updated_at >= idea.created_at).toBe(true);
  }
  for (const { author } of objects) if (author) expect(author.name).toBe(people[author.id as 7]);
  for (const { slug } of objects) if (slug) expect(['web-app', 'mobile-app']).toContain(slug);
  for (const { score, up_count, down_count } of objects) if (score) expect(score).toBe(up_count - down_count);
  for (const { idea_id } of objects) if (idea_id) expect(idea_id).toBe(42);
});

function* nested(value: Any): Generator<Any> {
  if (value === null || typeof value !== 'object') return;
  if (!Array.isArray(value)) yield value;
  for (const one of Object.values(value)) yield* nested(one);
}

test('the OpenAPI linters Redocly and Spectral find a wrong example of a request body, a response, an error and a webhook', async () => {
  const spoiled: Any = JSON.parse(committed);
  spoiled.components.examples.IdeaInput.value.title = 7;
  spoiled.components.examples.Idea.value.score = 'many';
  spoiled.components.examples.not_found.value.error.key = 'missing';
  spoiled.components.examples.IdeaMergedEvent.value.data.idea = null;
  const wrong = ['IdeaInput.value.title', 'Idea.value.score', 'not_found.value.error.key'];
  wrong.push('IdeaMergedEvent.value.data.idea');
  // Keeps only these operations, because the linters need much longer for the whole document.
  const paths = ['/api/v1/ideas', '/api/v1/ideas/{id}'];
  spoiled.paths = Object.fromEntries(paths.map(path => [path, spoiled.paths[path]]));
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-spoiled-'));
  const file = join(directory, 'openapi.json');
  try {
    await writeFile(file, JSON.stringify(spoiled));
    const [redocly, spectral] = await Promise.all([lintWithRedocly(file), lintWithSpectral(file)]);
    const byRedocly = redocly.filter(({ rule }) => rule === 'no-invalid-media-type-examples').map(({ path }) => path);
    const bySpectral = spectral.filter(({ rule }) => rule === 'oas3-valid-media-example').map(({ path }) => path);
    const expected = wrong.map(path => `components.examples.${path}`);
    expect([...new Set(byRedocly)].sort()).toEqual(expected.sort());
    expect([...new Set(bySpectral)].sort()).toEqual(expected.sort());
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

describe('a server with the board of the examples', () => {
  let server: TestServer;
  let world: World;
  let token: string;

  beforeAll(async () => {
    server = await startServer();
    world = await createWorld(server, { slug: 'web-app' });
    const nextId = (table: string, id: number) =>
      server.sql(`select setval(pg_get_serial_sequence('${table}', 'id'), $1, false)`, [id]);
    await nextId('tags', 3);
    await createTag(server, world.accountId, world.boardId);
    await createUser(server, 'The commenter');
    token = (await issueToken(server, world, 'moderate')).token;
    return () => server.close();
  });

  /** Creates the ideas, the comment and the note of the examples again, because some examples change or delete them. */
  const renew = async () => {
    await server.sql('delete from ideas where account_id = $1', [world.accountId]);
    await server.sql(
      `with added as (
        insert into ideas
          (id, account_id, board_id, author_id, status_id, title, body, moderation_state, created_at, updated_at, comment_count)
        overriding system value
        select e.id, s.account_id, s.board_id, ${world.ownerId}, s.id, e.title, e.body, 'published', e.created_at, e.updated_at, 1
        from statuses s, jsonb_to_recordset($1) e(id int, title text, body text, created_at timestamptz, updated_at timestamptz)
        where s.board_id = ${world.boardId} and s.key = 'open' returning id
      ), noted as (
        insert into idea_notes (id, account_id, idea_id, author_id, body, created_at) overriding system value
        select n.id, ${world.accountId}, n.idea_id, ${world.ownerId}, n.body, n.created_at
        from added, jsonb_to_record($3) n(id int, idea_id int, body text, created_at timestamptz)
        where added.id = n.idea_id
      )
      insert into comments (id, account_id, idea_id, author_id, body, created_at) overriding system value
      select c.id, ${world.accountId}, c.idea_id, u.id, c.body, c.created_at
      from added, users u, jsonb_to_record($2) c(id int, idea_id int, body text, created_at timestamptz)
      where added.id = c.idea_id and u.name = 'The commenter'`,
      [
        JSON.stringify([ideaExamples.created, ideaExamples.duplicate]),
        JSON.stringify(commentExamples.second),
        JSON.stringify(noteExamples.written),
      ],
    );
  };

  /** Creates the webhook of the examples and its delivery again, because some examples change or delete the webhook. */
  const renewWebhook = async () => {
    await server.sql('delete from webhook_endpoints where account_id = $1', [world.accountId]);
    await server.sql(
      `with event as (
        insert into events (account_id, type, data, body, occurred_at)
        values ($1, 'webhook.test', '{}', '{"type":"webhook.test"}', now()) returning id
      ), webhook as (
        insert into webhook_endpoints (id, account_id, board_id, url, secret) overriding system value
        values ($3, $1, $2, 'https://hooks.example.com/ideas', 'sealed')
      )
      insert into webhook_deliveries (id, account_id, endpoint_id, event_id) overriding system value
      select $4, $1, $3, event.id from event`,
      [world.accountId, world.boardId, 9, 1041],
    );
  };

  const lineOf = (documented: DocumentedOperation, query: Record<string, string>) => {
    const ids = parametersIn('path', documented);
    const path = documented.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name]);
    return `${documented.method} ${path}?${new URLSearchParams(query)}`;
  };
  const authenticated = operations.filter(({ operation }) => operation.security?.length !== 0);

  test.each(authenticated)('the server accepts the example requests of the operation $id', async documented => {
    const { operation } = documented;
    await renew();
    if (documented.path.includes('/webhooks')) await renewWebhook();
    const bodies = operation.requestBody ? Object.values(examplesOf(operation.requestBody)) : [{ value: undefined }];
    for (const [number, { value: json }] of bodies.entries()) {
      const headers = parametersIn('header', documented);
      // Each request needs its own idempotency key.
      if (headers['idempotency-key']) headers['idempotency-key'] += number;
      const answer = await request(server, lineOf(documented, parametersIn('query', documented)), {
        token,
        json,
        headers,
      });
      const [success] = Object.keys(operation.responses);
      expect([answer.status, answer.key]).toEqual([Number(success), undefined]);
      for (const { value } of Object.values(examplesOf(operation.responses[answer.status]))) {
        expect(Object.keys(answer.body)).toEqual(Object.keys(value));
      }
    }
  });

  test.each(authenticated)(
    'an invalid request of the operation $id gets exactly the validation error that the OpenAPI document shows as an example',
    async documented => {
      const { operation } = documented;
      // MCP, not the contract, defines the valid messages of the operation useTools.
      const isBody = operation.requestBody !== undefined && documented.id !== 'useTools';
      const unknown = { colour: 'blue' };
      // findSimilarIdeas is the only read operation whose request is invalid without a query.
      const isQueryRequired = documented.id === 'findSimilarIdeas';
      const answer = await request(server, lineOf(documented, isBody || isQueryRequired ? {} : unknown), {
        token,
        json: isBody ? (['editIdea', 'updateWebhook'].includes(documented.id) ? unknown : {}) : undefined,
      });
      expect(answer.body).toEqual(examplesOf(operation.responses[422]).validation_failed?.value);
    },
  );
});
