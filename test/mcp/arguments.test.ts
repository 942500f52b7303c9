import { expect, test } from 'vitest';
import { createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { callTool, forms, send } from './call-tool.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'moderate');
const longId = await insertIdea(server, world, { title: 'Long', body: 'x'.repeat(301) });
await insertIdea(server, world, { title: 'Short', body: 'x'.repeat(300) });

const call = async (name: string, args: Record<string, unknown>, form: (typeof forms)[number] = 'modern') => {
  const { body } = await callTool(server, { token, name, args, form });
  expect(body.result.isError, body.result.content[0].text).toBeFalsy();
  return body.result.structuredContent;
};

type Listed = { title: string; body: string; body_truncated: boolean };
const formsOf = ({ data }: { data: Listed[] }) =>
  data.map(({ title, body, body_truncated }) => [title, body.length, body_truncated]).sort();

test.each(forms)(
  'the MCP tool list_ideas returns shortened bodies by default, and whole bodies with `body=full` (form of the tool call: %s)',
  async form => {
    const excerpts = [
      ['Long', 300, true],
      ['Short', 300, false],
    ];
    expect(formsOf(await call('list_ideas', {}, form))).toEqual(excerpts);
    expect(formsOf(await call('list_ideas', { body: 'excerpt' }, form))).toEqual(excerpts);
    const whole = await call('list_ideas', { body: 'full' }, form);
    expect(whole).toEqual((await request(server, 'GET /api/v1/ideas', { token })).body);
    expect((await call('get_idea', { id: longId }, form)).body).toHaveLength(301);
  },
);

test('the argument `body` of list_ideas defaults to "excerpt" in the schema of the MCP tool and to "full" in the OpenAPI document', async () => {
  const { body } = await send(server, { token, message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  const schemaOf = (name: string) =>
    body.result.tools.find((tool: { name: string }) => tool.name === name).inputSchema.properties;
  expect(schemaOf('list_ideas').body).toMatchObject({ enum: ['full', 'excerpt'], default: 'excerpt' });
  expect(schemaOf('create_idea').body).not.toHaveProperty('default');
  const document = (await request(server, 'GET /api/v1/openapi.json')).body;
  const parameters: { name: string; schema: object }[] = document.paths['/api/v1/ideas'].get.parameters;
  expect(parameters.find(({ name }) => name === 'body')?.schema).toMatchObject({ default: 'full' });
});

test('the MCP tool list_ideas refuses an invalid value of its argument `body`', async () => {
  for (const value of ['none', null, 300]) {
    const { body } = await callTool(server, { token, name: 'list_ideas', args: { body: value } });
    expect(body.result.isError).toBe(true);
    expect(JSON.parse(body.result.content[0].text).error.issues).toMatchObject([{ path: ['arguments', 'body'] }]);
  }
});

test('the MCP tools for tagging, merging and unmerging ideas accept each id also as a string of digits', async () => {
  const tagId = await createTag(server, world.accountId, world.boardId);
  const [sourceId, targetId] = [await insertIdea(server, world), await insertIdea(server, world)];
  const texts = { id: String(sourceId), tag_id: String(tagId), target_id: String(targetId) };
  const { id, tag_id, target_id } = texts;
  expect((await call('add_idea_tag', { id, tag_id })).tags).toMatchObject([{ id: tagId }]);
  expect((await call('remove_idea_tag', { id, tag_id })).tags).toEqual([]);
  const merged = await call('merge_ideas', { id, target_id });
  expect([merged.idea.merged_into_id, merged.target.id]).toEqual([targetId, targetId]);
  expect(await call('merge_ideas', { id: sourceId, target_id: targetId })).toEqual(merged);
  expect(await server.sql('select source_id, target_id from merges where source_id = $1', [sourceId])).toEqual([
    { source_id: sourceId, target_id: targetId },
  ]);
  expect((await call('unmerge_idea', { id })).idea.merged_into_id).toBeNull();
});
