import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';

/*
 * Simulates a language model that knows only the list of tools and the answers of the tools. The file beside this test
 * contains the transcript of the session. The command `vitest -u` updates the transcript.
 */

const server = await startServerForFile({ clock: testClock('2026-03-14T09:00:10.000Z') });
const world = await createWorld(server, { slug: 'web-app', name: 'Web app' });
const mobile = await createBoard(server, world.accountId, { slug: 'mobile-app', name: 'Mobile app' });
const { token } = await issueToken(server, world, { [world.boardId]: 'moderate', [mobile.id]: 'read' });
await createTag(server, world.accountId, world.boardId, 'Reports');
const at = (day: number) => new Date(`2026-03-0${day}T08:00:00Z`);
const wish = 'Our steering group reads a spreadsheet every month. ';
await insertIdea(server, world, { title: 'Export a board as CSV', body: wish.repeat(8), createdAt: at(1) });
await insertIdea(server, world, { title: 'CSV export of all ideas', body: wish, createdAt: at(3) });
await insertIdea(server, world, { title: 'Dark mode', body: 'My eyes hurt at night.', createdAt: at(2) });

type Fields = Record<string, unknown>;

interface Turn {
  isError: boolean;
  fields: Fields;
}

/**
 * Opens a session of a model. The model can call only tools in the list, and only with arguments that match the tool's
 * input schema.
 */
async function openSession() {
  const client = new Client({ name: 'a-model', version: '1.0.0' });
  const address = new URL(`${server.baseUrl}/api/v1/mcp`);
  await client.connect(
    new StreamableHTTPClientTransport(address, { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
  );
  const { tools } = await client.listTools();
  const transcript: string[] = [];
  const call = async (name: string, args: Fields = {}): Promise<Turn> => {
    const tool = tools.find(one => one.name === name);
    expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(expect.arrayContaining(Object.keys(args)));
    const result = await client.callTool({ name, arguments: args });
    const texts = (result.content as { text: string }[]).map(({ text }) => text);
    transcript.push(`> ${name} ${JSON.stringify(args)}`, ...texts, '');
    return { isError: result.isError === true, fields: JSON.parse(texts[0] ?? '') as Fields };
  };
  return { call, transcript, close: () => client.close() };
}

/** Replaces numbers and times in the transcript, because they differ from run to run. */
function withoutChance(transcript: string[]): string {
  return transcript
    .join('\n')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/:\d+(?=[/,}\]])/g, ':<n>');
}

test('an agent that knows only the list of MCP tools and their results can merge a duplicate idea without an error', async () => {
  const { call, transcript, close } = await openSession();
  const turns = [await call('whoami')];
  const boards = turns[0]?.fields.boards as { slug: string; grant: string }[];
  const board = boards.find(({ grant }) => grant === 'moderate')?.slug;

  turns.push(await call('list_ideas', { board, q: 'csv exp' }));
  const found = turns[1]?.fields.data as { id: number; created_at: string; body_truncated: boolean }[];
  const [target, duplicate] = found.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
  for (const idea of [target, duplicate]) turns.push(await call('get_idea', { board, id: idea?.id }));
  turns.push(await call('merge_ideas', { board, id: duplicate?.id, target_id: target?.id }));

  expect(found.map(({ body_truncated }) => body_truncated).sort()).toEqual([false, true]);
  expect(turns.filter(({ isError }) => isError)).toEqual([]);
  const stored = await server.sql('select merged_into_id from ideas where id = $1', [duplicate?.id]);
  expect(stored).toEqual([{ merged_into_id: target?.id }]);
  await expect(withoutChance(transcript)).toMatchFileSnapshot('merge-a-duplicate.transcript.txt');
  await close();
});

test('the error for a missing board, an unknown status or an unknown tag lists the valid values, so that an agent can choose one', async () => {
  const { call, close } = await openSession();
  const errorOf = ({ fields }: Turn) => fields.error as { key: string; details: Fields; issues: { known: string[] }[] };
  const unnamed = errorOf(await call('list_ideas', { q: 'dark' }));
  const offered = unnamed.details.boards as { slug: string; grant: string }[];
  const board = offered.find(({ grant }) => grant === 'moderate')?.slug;
  const { fields } = await call('list_ideas', { q: 'dark', board });
  const [{ id }] = fields.data as [{ id: number }];

  const unknownStatus = errorOf(await call('set_idea_status', { board, id, status: 'shipped' }));
  expect(unknownStatus.details.statuses).toContain('done');
  const [status] = (unknownStatus.details.statuses as string[]).filter(one => one === 'done');
  expect(await call('set_idea_status', { board, id, status })).toMatchObject({ isError: false });

  const unknownTag = errorOf(await call('add_idea_tag', { board, id, tag_id: 999_999_999 }));
  const [tag] = unknownTag.details.tags as { id: number; name: string }[];
  expect(await call('add_idea_tag', { board, id, tag_id: tag?.id })).toMatchObject({ isError: false });

  expect(await call('comment_on_idea', { board, id, body: 'It is done.' })).toMatchObject({ isError: false });
  const again = errorOf(await call('comment_on_idea', { board, id, body: 'Really.' }));
  expect(again).toMatchObject({ key: 'consecutive_comment', details: { last_comment: { id: expect.any(Number) } } });
  await close();
});
