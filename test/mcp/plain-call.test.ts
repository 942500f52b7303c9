import type { CallToolResult } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { DomainError } from '../../server/domain/domain-error.ts';
import { answerWithSdk } from '../../server/mcp/answer-with-sdk.ts';
import { serverInfo } from '../../server/mcp/introduction.ts';
import { eraOfPlainCall, writePlainResult } from '../../server/mcp/plain-call.ts';
import { refusalResultOf, resultOf } from '../../server/mcp/run-tool.ts';
import { tools } from '../../server/mcp/tools.ts';
import { envelope, modernHeaders } from './call-tool.ts';

/*
 * Compares the answers that the server writes itself with the answers that the SDK writes. Each message differs from a
 * plain tool call in one detail.
 */

const tool = tools.get('get_idea');
if (!tool) throw new Error('There is no get_idea');

const prefix = 'io.modelcontextprotocol/';
const client = { name: 'a', version: '1' };

/**
 * Message ids as JSON text. JSON.parse would change some of these numbers: some are too large, and some, such as 1e3,
 * can be written in several ways.
 */
const ids = ['0', '-0', '""', '-9007199254740991', '9007199254740993', '1.5', '1e3', '1e400', '"\\ud800"', '"\\u2028"'];
const noIds = ['null', 'true', '{}', '[]'];

const clients: unknown[] = [
  { name: '', version: '' },
  { ...client, title: 'A client', description: 'It asks.', websiteUrl: 'no address' },
  { ...client, title: 3 },
  { ...client, description: null },
  { ...client, websiteUrl: {} },
  { ...client, icons: [{ src: 'x' }] },
  { ...client, icons: [{ src: 3 }] },
  { ...client, icons: 'x' },
  { ...client, more: 3 },
  { name: 'a' },
  { version: '1' },
  null,
  'a',
  [],
];

const capabilities: unknown[] = [
  { roots: {}, sampling: {}, elicitation: {}, tasks: {}, more: {} },
  { roots: { listChanged: true }, elicitation: { form: {}, url: {} }, sampling: { context: {}, tools: {} } },
  { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } }, experimental: { a: { b: [1, null] } } },
  { roots: { listChanged: 1 } },
  { roots: { listChanged: null } },
  { roots: { more: 1 } },
  { roots: [] },
  { sampling: { tools: 1 } },
  { sampling: { context: [] } },
  { elicitation: { form: { applyDefaults: true } } },
  { elicitation: { form: { applyDefaults: 1 } } },
  { elicitation: { url: 1 } },
  { experimental: { a: 1 } },
  { extensions: { a: [] } },
  { tasks: { requests: 1 } },
  { more: 1 },
  null,
  [],
];

const metas: object[] = [
  { progressToken: 'a' },
  { progressToken: 1.5 },
  { progressToken: {} },
  { [`${prefix}logLevel`]: 'error' },
  { [`${prefix}logLevel`]: 'loud' },
  { [`${prefix}related-task`]: { taskId: 'a' } },
  { [`${prefix}related-task`]: 3 },
  { traceparent: 3, 'com.example/x': null, 'idea-board/idempotency-key': '\ud800', toString: 1, '': 1 },
];

const params: object[] = [
  { arguments: { id: '\ud800', more: [null] } },
  { arguments: null },
  { arguments: [] },
  { task: { ttl: 1 } },
  { task: 1 },
  { _meta: null },
  { more: 1 },
];

const text = (value: object) => JSON.stringify(value);
const call = (id: string, given: object) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${text({ name: 'get_idea', arguments: {}, ...given })}}`;

/**
 * Returns the messages for one kind of MCP protocol version: before 2026, or of 2026. The `_meta` of each message
 * begins with `start`, the required fields of this version.
 */
function messagesOf(start: object): string[] {
  return [
    ...[...ids, ...noIds].map(id => call(id, { _meta: start })),
    ...metas.map(meta => call('1', { _meta: { ...start, ...meta } })),
    ...params.map(given => call('1', { _meta: start, ...given })),
    call('1', { _meta: start }).replace('{', '{"more":1,'),
    call('1', { _meta: start }).replace('{', '{"result":{},'),
  ];
}

const modern = [
  ...messagesOf(envelope),
  ...clients.map(info => call('1', { _meta: { ...envelope, [`${prefix}clientInfo`]: info } })),
  ...capabilities.map(given => call('1', { _meta: { ...envelope, [`${prefix}clientCapabilities`]: given } })),
].map(message => ({ message, headers: modernHeaders('tools/call', 'get_idea') }));

const legacy = [
  ...messagesOf({}).map(message => ({ message, headers: {} })),
  ...['2025-11-25', '2024-10-07', '2026-07-28', '2020-01-01', ''].map(version => ({
    message: call('1', {}),
    headers: { 'mcp-protocol-version': version },
  })),
];

const counter = { name: 'apitoken:read', key: 'a-key', limit: 120, windowSeconds: 60 };
const times = { windowStartedAt: new Date(0), expiresAt: new Date(60_000), resetSeconds: 9 };
const unlimited = { isReplayed: false, bucketState: null };
const nearLimit = { isReplayed: true, bucketState: { ...counter, ...times, count: 118 } };
const body = { id: 1, title: '\ud800 \u2028 "é" 😀', none: null, left: undefined, list: [{}, []] };
const issues = [{ path: ['body'], code: '\udc00', message: '"' }];

const results: CallToolResult[] = [
  resultOf(tool, body, unlimited),
  resultOf(tool, { _meta: {}, error: {}, resultType: 'x', isError: true }, nearLimit),
  resultOf({ ...tool, userText: [] }, body, unlimited),
  refusalResultOf(tool, new DomainError('validation_failed', { issues }), unlimited),
  refusalResultOf(tool, new DomainError('not_found'), nearLimit),
];

test.each([
  ['2026', modern],
  ['2025', legacy],
])(
  "the server's short path for simple tool calls, which avoids the MCP SDK, answers like the SDK for protocol version %s",
  async (_, messages) => {
    let plain = 0;
    for (const [n, { message, headers }] of messages.entries()) {
      const result = results[n % results.length] as CallToolResult;
      const exchange = { message: JSON.parse(message), headers, runTool: async () => structuredClone(result) };
      const era = eraOfPlainCall(exchange);
      if (!era) continue;
      plain += 1;
      const answer = await answerWithSdk({ instructions: '', definitions: [] }, exchange);
      expect([message, answer.status, answer.contentType]).toEqual([message, 200, 'application/json']);
      const written = writePlainResult(result, exchange.message.id, era, serverInfo);
      expect([message, JSON.parse(written)]).toEqual([message, JSON.parse(answer.body)]);
    }
    expect(plain).toBeGreaterThan(10);
  },
);
