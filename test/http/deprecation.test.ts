import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { IdeaBoard } from '../../client/main.ts';
import { operations } from '../../contract/index.ts';
import { buildOpenApiDocument } from '../../contract/openapi.ts';
import { BoardParameter } from '../../contract/routes.ts';
import { buildTools } from '../../server/mcp/tools.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

// The contract has no deprecated operation. So this test file marks one operation and one of its parameters as
// deprecated.
const link = 'https://ideas.example.com/changes#board';
const { getBoard } = operations;
const { metadata, query } = getBoard;
Object.assign(getBoard, {
  metadata: { ...metadata, deprecated: { since: '2026-11-01', sunset: '2027-11-01', link } },
  query: z.strictObject({ board: BoardParameter.board.meta({ deprecated: true }) }),
});
// Restores the contract, because other test files use the same contract.
afterAll(() => Object.assign(getBoard, { metadata, query }));

const server = await startServerForFile();
const { token } = await issueToken(server, await createWorld(server), 'read');

const sent = {
  deprecation: '@1793491200',
  sunset: 'Mon, 01 Nov 2027 00:00:00 GMT',
  link: `<${link}>; rel="deprecation"; type="text/html"`,
};

const deprecationOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries(Object.keys(sent).map(name => [name, headers.get(name)]));

test('every response of a deprecated operation, even a response with the status 401, has the headers Deprecation, Sunset and Link', async () => {
  expect(deprecationOf(await request(server, 'GET /api/v1/board', { token }))).toEqual(sent);
  expect(deprecationOf(await request(server, 'GET /api/v1/board'))).toEqual(sent);
  const other = deprecationOf(await request(server, 'GET /api/v1/ideas', { token }));
  expect(other).toEqual({ deprecation: null, sunset: null, link: null });
});

test("the OpenAPI document marks a deprecated operation and a deprecated parameter, and describes the deprecation headers of the operation's responses", () => {
  const { paths } = buildOpenApiDocument() as { paths: Record<string, Record<string, object>> };
  const header = (name: string) => ({
    [name]: expect.objectContaining({ example: sent[name.toLowerCase() as 'link'] }),
  });
  const headers = expect.objectContaining({ ...header('Deprecation'), ...header('Sunset'), ...header('Link') });
  expect(paths['/api/v1/board']?.get).toMatchObject({
    deprecated: true,
    parameters: expect.arrayContaining([expect.objectContaining({ name: 'board', deprecated: true })]),
    responses: { 200: { headers }, 304: { headers }, 401: { headers }, 429: { headers } },
  });
  expect(paths['/api/v1/ideas']?.get).toMatchObject({ operationId: 'listIdeas', deprecated: undefined });
});

test('the description of an MCP tool gives the day on which its operation was deprecated, and the day after which the operation may be removed', () => {
  const described = [...buildTools().values()].map(({ definition }) => definition);
  const told = described.filter(({ description }) => description?.includes('Deprecated'));
  expect(told.map(({ name }) => name)).toEqual(['get_board']);
  expect(told[0]?.description).toMatch(
    /\. Deprecated since 2026-11-01, and may be removed after 2027-11-01\. See https:\/\/ideas\.example\.com\/changes#board\.$/,
  );
});

test('the SDK warns once about each deprecated operation that a program calls, even if the program calls the operation by its path', async () => {
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const logger = { error: log, warn: log, info: log, debug: log };
  const client = new IdeaBoard({ baseUrl: server.baseUrl, token, logLevel: 'warn', logger });
  await client.ideas.list();
  await client.board.get();
  await client.board.get();
  await client.request({ method: 'GET', path: '/api/v1/board' });
  const text = `the operation is deprecated since 2026-11-01. It may be removed after ${sent.sunset}. See ${link}`;
  expect(lines).toEqual([`[idea-board] getBoard: ${text}`, `[idea-board] GET /api/v1/board: ${text}`]);
});
