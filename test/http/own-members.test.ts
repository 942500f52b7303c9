import { describe, expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { forms, modernHeaders } from '../mcp/call-tool.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'moderate');
const ideaId = await insertIdea(server, world);

const json = { 'content-type': 'application/json' };

/**
 * JSON fields with a special JavaScript name such as __proto__, alone or beside a field with a valid value. Each has a
 * description.
 */
const members: [string, string][] = [
  ['__proto__', '"__proto__":{"value":"up","polluted":1}'],
  ['__proto__ in escapes', '"\\u005f_proto__":{"value":"up","polluted":1}'],
  ['constructor', '"constructor":{"prototype":{"value":"up","polluted":1}}'],
  ['prototype', '"prototype":{"polluted":1}'],
  ['__proto__ and a valid value', '"value":"up","__proto__":{"polluted":1}'],
  ['constructor and a valid value', '"value":"up","constructor":1'],
  ['__proto__ as the value', '"value":{"__proto__":{"polluted":1}}'],
  ['__proto__ deep in a field', '"value":"up","more":{"a":[{"__proto__":{"polluted":1}}]}'],
];

async function expectNothingDone() {
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(await server.sql('select from votes')).toEqual([]);
}

describe('prototype keys', () => {
  test.each(members)(
    'a request with a prototype key such as __proto__ in its body is refused as invalid: %s',
    async (_, text) => {
      const path = `/api/v1/ideas/${ideaId}/vote`;
      const answer = await rawRequest(server, 'POST', path, { token, headers: json, body: `{${text}}` });
      expect([answer.status, answer.key]).toEqual([422, 'validation_failed']);
      expect(answer.body.error.issues.length).toBeGreaterThan(0);
      for (const issue of answer.body.error.issues) expect(issue.path[0]).toBe('body');
      await expectNothingDone();
    },
  );

  test.each(members)(
    'an MCP tool call with a prototype key such as __proto__ in its arguments is refused as invalid: %s',
    async (_, text) => {
      for (const form of forms) {
        const isModern = form.startsWith('modern');
        const meta = isModern
          ? '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}'
          : '';
        const unusual = form === 'modern-unusual' ? ',"io.modelcontextprotocol/logLevel":"error"' : '';
        const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vote_idea","arguments":{"id":${ideaId},${text}},"_meta":{${meta}${unusual}}}}`;
        const headers = {
          ...json,
          accept: 'application/json, text/event-stream',
          ...(isModern ? modernHeaders('tools/call', 'vote_idea') : {}),
          ...(form === 'legacy-unusual' ? { 'mcp-method': 'tools/call' } : {}),
        };
        const answer = await rawRequest(server, 'POST', '/api/v1/mcp', { token, headers, body });
        expect([form, answer.status, answer.body.result?.isError]).toEqual([form, 200, true]);
        const { error } = JSON.parse(answer.body.result.content[0].text);
        expect([form, error.key]).toEqual([form, 'validation_failed']);
        for (const issue of error.issues) expect(issue.path[0]).toBe('arguments');
      }
      await expectNothingDone();
    },
  );

  test('an MCP tool call that names its board inside __proto__ is refused as invalid', async () => {
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_board","arguments":{"__proto__":{"board":"other"}}}}`;
    const answer = await rawRequest(server, 'POST', '/api/v1/mcp', { token, headers: json, body: message });
    expect(JSON.parse(answer.body.result.content[0].text).error.key).toBe('validation_failed');
  });

  test('the server checks the token and the grant first, then the body for prototype keys such as __proto__, and then whether the idea exists', async () => {
    const reader = await issueToken(server, world, 'read');
    for (const [sent, path, expected] of [
      ['ib_1_x', `/api/v1/ideas/${ideaId}/vote`, [401, 'unauthorized']],
      [reader.token, `/api/v1/ideas/${ideaId}/vote`, [403, 'insufficient_scope']],
      [token, '/api/v1/ideas/999999999/vote', [422, 'validation_failed']],
    ] as const) {
      const body = '{"__proto__":{"value":"up"}}';
      const answer = await rawRequest(server, 'POST', path, { token: sent, headers: json, body });
      expect([answer.status, answer.key]).toEqual(expected);
    }
  });
});
