import { parse } from 'node-html-parser';
import { expect, test } from 'vitest';
import { errors } from '../../contract/errors.ts';
import { type Seen, signedIn, type Visitor } from '../admin/visitor.ts';
import {
  createMember,
  createTag,
  createWorld,
  insertComment,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { addWebhook } from '../helpers/webhooks.ts';
import { callTool } from '../mcp/call-tool.ts';

/*
 * The tests run the same action on a page, over REST and over MCP. Each of these three interfaces has its own account
 * with the same people, ideas and webhook. After each action, all three accounts must have the same rows, events,
 * notifications and webhook deliveries.
 */

type Role = 'member' | 'moderator';

interface Scene {
  world: World;
  ideaId: number;
  otherId: number;
  /** An idea by the member. It has a comment by the owner. */
  ownId: number;
  commentId: number;
  /** A note by the owner about the own idea. */
  noteId: number;
  tagId: number;
  people: Record<Role, { userId: number; token: string; visitor: Visitor }>;
}

const ways = ['page', 'REST', 'MCP'] as const;
type Way = (typeof ways)[number];

const limits = { RATE_LIMIT_SIGN_IN_IP: '1000000', RATE_LIMIT_WRITE: '1000', RATE_LIMIT_MEMBER: '1000' };
const server = await startServerForFile({ environment: limits });
const made: [Way, Scene][] = [];
for (const way of ways) made.push([way, await makeScene()]);
const scenes = Object.fromEntries(made) as Record<Way, Scene>;

async function makeScene(): Promise<Scene> {
  const world = await createWorld(server, { name: 'The board' });
  const make = async (role: Role) => {
    const userId = await createMember(server, world.accountId, role, `The ${role}`);
    const grant = role === 'member' ? 'write' : 'moderate';
    const { token } = await issueToken(server, world, grant, { issuerId: userId });
    return { userId, token, visitor: await signedIn(server, userId) };
  };
  await addWebhook(server, world, { url: 'https://hooks.example.com/a' });
  const ideaId = await insertIdea(server, world, { title: 'The idea' });
  const otherId = await insertIdea(server, world, { title: 'The other idea' });
  await server.sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3)', [
    world.accountId,
    ideaId,
    world.ownerId,
  ]);
  const tagId = await createTag(server, world.accountId, world.boardId, 'Design');
  const people = { member: await make('member'), moderator: await make('moderator') };
  const ownId = await insertIdea(server, world, { title: 'The own idea', authorId: people.member.userId });
  await server.sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3)', [
    world.accountId,
    ownId,
    people.member.userId,
  ]);
  const commentId = await insertComment(server, world, ownId);
  const [note] = await server.sql<{ id: number }>(
    `insert into idea_notes (account_id, idea_id, author_id, body) values ($1, $2, $3, 'The note') returning id`,
    [world.accountId, ownId, world.ownerId],
  );
  return { world, ideaId, otherId, ownId, commentId, noteId: note?.id ?? 0, tagId, people };
}

interface Action {
  what: string;
  by: Role;
  /** SQL that changes the board before the action. */
  before?: string;
  /** Returns the path of the page with the form, the path for submitting the form, and the fields of the form. */
  page(scene: Scene): [page: string, form: string, fields: Record<string, string>];
  rest(scene: Scene): [line: string, json?: unknown];
  tool(scene: Scene): [name: string, args: Record<string, unknown>];
  /** The key of the expected error, or undefined if the action succeeds. */
  key?: keyof typeof errors;
}

const board = ({ world }: Scene) => `/b/${world.boardSlug}`;
const idea = (scene: Scene, id = scene.ideaId) => `${board(scene)}/ideas/${id}`;

const vote = (what: string, value: string, rest: Partial<Action> = {}): Action => ({
  what,
  by: 'member',
  page: scene => [idea(scene), `${idea(scene)}/vote`, { value }],
  rest: ({ ideaId }) => [`POST /api/v1/ideas/${ideaId}/vote`, { value }],
  tool: ({ ideaId }) => ['vote_idea', { id: ideaId, value }],
  ...rest,
});
const comment = (what: string, body: string, rest: Partial<Action> = {}): Action => ({
  what,
  by: 'member',
  page: scene => [idea(scene), `${idea(scene)}/comments`, { body }],
  rest: ({ ideaId }) => [`POST /api/v1/ideas/${ideaId}/comments`, { body }],
  tool: ({ ideaId }) => ['comment_on_idea', { id: ideaId, body }],
  ...rest,
});
const create = (what: string, input: { title: string; body: string }, rest: Partial<Action> = {}): Action => ({
  what,
  by: 'member',
  page: scene => [`${board(scene)}/new`, `${board(scene)}/new`, input],
  rest: () => ['POST /api/v1/ideas', input],
  tool: () => ['create_idea', input],
  ...rest,
});
const editIdea = (
  what: string,
  which: 'ideaId' | 'ownId',
  input: Record<string, string>,
  rest: Partial<Action> = {},
): Action => ({
  what,
  by: 'member',
  page: scene => [
    idea(scene, scene[which]),
    `${idea(scene, scene[which])}/edit`,
    { body: 'Its description.', ...input },
  ],
  rest: scene => [`PATCH /api/v1/ideas/${scene[which]}`, input],
  tool: scene => ['edit_idea', { id: scene[which], ...input }],
  ...rest,
});
const deleteIdea = (what: string, which: 'ideaId' | 'ownId', reason: string, rest: Partial<Action> = {}): Action => ({
  what,
  by: 'member',
  page: scene => [idea(scene, scene[which]), `${idea(scene, scene[which])}/delete`, { reason }],
  rest: scene => [`DELETE /api/v1/ideas/${scene[which]}${reason && `?reason=${reason}`}`],
  tool: scene => ['delete_idea', { id: scene[which], ...(reason && { reason }) }],
  ...rest,
});
const changeComment = (verb: 'edit' | 'delete', by: Role, rest: Partial<Action> = {}): Action => {
  const input = { ...(verb === 'edit' && { body: 'A kinder comment' }), reason: 'Tone' };
  const path = ({ ownId, commentId }: Scene) => `/api/v1/ideas/${ownId}/comments/${commentId}`;
  return {
    what: `${verb}s the comment of the owner`,
    by,
    page: scene => [idea(scene, scene.ownId), `${idea(scene, scene.ownId)}/comments/${scene.commentId}/${verb}`, input],
    rest: scene => (verb === 'edit' ? [`PATCH ${path(scene)}`, input] : [`DELETE ${path(scene)}?reason=Tone`]),
    tool: ({ ownId, commentId }) => [`${verb}_comment`, { id: ownId, comment_id: commentId, ...input }],
    ...rest,
  };
};
const addNote = (what: string, body: string, rest: Partial<Action> = {}): Action => ({
  what,
  by: 'moderator',
  page: ({ ideaId }) => [`/admin/ideas/${ideaId}`, `/admin/ideas/${ideaId}/notes`, { body }],
  rest: ({ ideaId }) => [`POST /api/v1/ideas/${ideaId}/notes`, { body }],
  tool: ({ ideaId }) => ['add_note', { id: ideaId, body }],
  ...rest,
});
const changeNote = (verb: 'edit' | 'delete', rest: Partial<Action> = {}): Action => {
  const input: Record<string, string> = verb === 'edit' ? { body: 'A better note' } : {};
  const path = ({ ownId, noteId }: Scene) => `ideas/${ownId}/notes/${noteId}`;
  return {
    what: `${verb}s the note of the owner`,
    by: 'moderator',
    page: scene => [`/admin/ideas/${scene.ownId}`, `/admin/${path(scene)}/${verb}`, input],
    rest: scene => (verb === 'edit' ? [`PATCH /api/v1/${path(scene)}`, input] : [`DELETE /api/v1/${path(scene)}`]),
    tool: ({ ownId, noteId }) => [`${verb}_note`, { id: ownId, note_id: noteId, ...input }],
    ...rest,
  };
};
const setBoard = (assignments: string) => `update boards set ${assignments} where id = $1`;
const open = setBoard('is_frozen = false, submissions_close_at = null, voting_close_at = null');

const actions: Action[] = [
  create('submits an idea', { title: 'Export as CSV', body: 'For\nreports.' }),
  create(
    'submits an idea on a board with pre-moderation',
    { title: 'Dark mode', body: 'At night.' },
    {
      before: setBoard('pre_moderation = true'),
    },
  ),
  create(
    'submits an idea on a board with pre-moderation',
    { title: 'Light mode', body: 'By day.' },
    { by: 'moderator' },
  ),
  create(
    'submits an idea after the submission window',
    { title: 'Late', body: 'Too late.' },
    {
      before: setBoard(`submissions_close_at = '2020-01-01'`),
      key: 'submissions_closed',
    },
  ),
  create(
    'submits an idea that mentions the owner',
    { title: 'Shortcuts', body: 'As @The owner said.' },
    { before: setBoard('pre_moderation = false, submissions_close_at = null') },
  ),
  create('submits an idea without a title', { title: ' ', body: 'x' }, { before: open, key: 'validation_failed' }),
  vote('votes up', 'up'),
  vote('votes up again', 'up'),
  vote('votes down', 'down'),
  vote('withdraws the vote', 'none'),
  vote('votes on a frozen board', 'up', { before: setBoard('is_frozen = true'), key: 'board_frozen' }),
  comment('comments on a frozen board', 'Hello', { key: 'board_frozen' }),
  vote('votes after the voting window', 'up', {
    before: setBoard(`is_frozen = false, voting_close_at = '2020-01-01'`),
    key: 'voting_closed',
  }),
  comment('comments', 'Yes,\nplease.', { before: open }),
  comment('comments twice in a row', 'And soon.', { key: 'consecutive_comment' }),
  comment('comments after somebody else', 'Soon.', { by: 'moderator' }),
  {
    what: 'sets a status',
    by: 'moderator',
    page: ({ ideaId }) => [`/admin/ideas/${ideaId}`, `/admin/ideas/${ideaId}/status`, { status: 'planned' }],
    rest: ({ ideaId }) => [`POST /api/v1/ideas/${ideaId}/status`, { status: 'planned' }],
    tool: ({ ideaId }) => ['set_idea_status', { id: ideaId, status: 'planned' }],
  },
  comment('mentions the owner and a moderator in a comment', 'As @the owner and @The moderator said.', {}),
  {
    what: 'sets a status with an official reply that mentions a member',
    by: 'moderator',
    page: ({ ideaId }) => [
      `/admin/ideas/${ideaId}`,
      `/admin/ideas/${ideaId}/status`,
      { status: 'done', reply: 'Done, @The member.' },
    ],
    rest: ({ ideaId }) => [`POST /api/v1/ideas/${ideaId}/status`, { status: 'done', reply: 'Done, @The member.' }],
    tool: ({ ideaId }) => ['set_idea_status', { id: ideaId, status: 'done', reply: 'Done, @The member.' }],
  },
  {
    what: 'sets a status with an official reply that is too long',
    by: 'moderator',
    page: ({ ideaId }) => [
      `/admin/ideas/${ideaId}`,
      `/admin/ideas/${ideaId}/status`,
      { status: 'planned', reply: 'x'.repeat(501) },
    ],
    rest: ({ ideaId }) => [`POST /api/v1/ideas/${ideaId}/status`, { status: 'planned', reply: 'x'.repeat(501) }],
    tool: ({ ideaId }) => ['set_idea_status', { id: ideaId, status: 'planned', reply: 'x'.repeat(501) }],
    key: 'validation_failed',
  },
  {
    what: 'adds a tag',
    by: 'moderator',
    page: ({ ideaId, tagId }) => [`/admin/ideas/${ideaId}`, `/admin/ideas/${ideaId}/tags`, { tag_id: String(tagId) }],
    rest: ({ ideaId, tagId }) => [`POST /api/v1/ideas/${ideaId}/tags`, { tag_id: tagId }],
    tool: ({ ideaId, tagId }) => ['add_idea_tag', { id: ideaId, tag_id: tagId }],
  },
  editIdea('edits an own idea', 'ownId', { title: 'Better', body: 'As @The owner said.' }),
  editIdea('edits the idea of the owner', 'ideaId', { title: 'Worse' }, { key: 'not_author' }),
  editIdea('edits the idea of the owner', 'ideaId', { title: 'Better', reason: 'Typing' }, { by: 'moderator' }),
  editIdea(
    'edits an own idea after the submission window',
    'ownId',
    { title: 'Late' },
    { before: setBoard(`submissions_close_at = '2020-01-01'`), key: 'submissions_closed' },
  ),
  deleteIdea('deletes an own idea with the comment of the owner', 'ownId', '', { before: open, key: 'idea_in_use' }),
  changeComment('edit', 'member', { key: 'not_author' }),
  changeComment('edit', 'moderator'),
  changeComment('delete', 'member', { key: 'not_author' }),
  changeComment('delete', 'moderator'),
  addNote('adds a note', 'Three customers\nasked, as @The owner said.'),
  addNote('adds a note without text', ' ', { key: 'validation_failed' }),
  changeNote('edit', { before: setBoard('is_frozen = true'), key: 'board_frozen' }),
  changeNote('edit', { before: open }),
  changeNote('delete'),
  deleteIdea('deletes the idea of the owner', 'ideaId', '', { key: 'not_author' }),
  deleteIdea('deletes the idea of the member', 'ownId', 'Spam', { by: 'moderator' }),
  {
    what: 'merges an idea into another',
    by: 'moderator',
    page: ({ ideaId, otherId }) => [
      `/admin/ideas/${ideaId}/merge?target=${otherId}`,
      `/admin/ideas/${ideaId}/merge`,
      { target_id: String(otherId) },
    ],
    rest: ({ ideaId, otherId }) => [`POST /api/v1/ideas/${ideaId}/merge`, { target_id: otherId }],
    tool: ({ ideaId, otherId }) => ['merge_ideas', { id: ideaId, target_id: otherId }],
  },
  comment('comments on a merged idea', 'Too late.', { key: 'idea_already_merged' }),
];

test.each(actions)(
  'if a $by $what, a page form, a REST request and an MCP tool call cause the same database rows, events and notifications',
  async one => {
    for (const way of ways) {
      const scene = scenes[way];
      if (one.before) await server.sql(one.before, [scene.world.boardId]);
      const { visitor, token } = scene.people[one.by];
      if (way === 'page') expectPage(await sendForm(visitor, one.page(scene)), one.key);
      else if (way === 'REST') {
        const [line, json] = one.rest(scene);
        expectAnswer(await request(server, line, { token, json }), one.key);
      } else {
        const [name, args] = one.tool(scene);
        const { body } = await callTool(server, { token, name, args });
        expect(JSON.parse(body.result.content[0].text).error?.key).toBe(one.key);
      }
    }
    expect(await runJobs(server).then(failed => failed.filter(({ task }) => task !== 'deliver_webhook'))).toEqual([]);
    const ofRest = await stateOf(scenes.REST.world);
    expect(await stateOf(scenes.MCP.world)).toEqual(ofRest);
    expect(await stateOf(scenes.page.world)).toEqual(ofRest);
  },
);

/**
 * Sends a form. Reads the hidden fields from the current page of the form, although the page of a frozen board may no
 * longer have the form.
 */
async function sendForm(visitor: Visitor, [page, form, fields]: [string, string, Record<string, string>]) {
  const { html } = await visitor.get(page);
  const hidden = parse(html).querySelectorAll('input[type=hidden]');
  const values = hidden.map(one => [one.getAttribute('name') ?? '', one.getAttribute('value') ?? ''] as const);
  const { form_token = '', form_id = 'a'.repeat(22) } = Object.fromEntries(values);
  return visitor.post(form, { form_token, form_id, seen_for: fields.title ?? '', ...fields });
}

function expectPage({ status, html, location }: Seen, key: Action['key']) {
  if (key === undefined) expect([status, location]).toEqual([303, expect.any(String)]);
  else {
    expect(status).toBe(errors[key].status);
    expect(parse(html).querySelector('#problem')?.textContent).toMatch(/\w/);
  }
}

function expectAnswer({ status, key: received }: Answer, key: Action['key']) {
  expect(received).toBe(key);
  if (key === undefined) expect(status).toBeLessThan(300);
}

/** Returns the rows of an account, with titles and names in place of ids. */
async function stateOf({ accountId }: World): Promise<unknown> {
  const select = (text: string) => server.sql(text, [accountId]);
  return {
    ideas: await select(
      `select i.title, i.body, u.name, s.key, i.moderation_state, i.up_count, i.down_count, i.comment_count, t.title as target
      from ideas i join users u on u.id = i.author_id join statuses s on s.id = i.status_id
      left join ideas t on t.id = i.merged_into_id where i.account_id = $1 order by i.id`,
    ),
    votes: await select(
      `select i.title, v.value, o.title as carried_from from votes v join ideas i on i.id = v.idea_id
      left join ideas o on o.id = v.carried_from_id where v.account_id = $1 order by 1, 2`,
    ),
    comments: await select(
      'select c.body, u.name, c.is_official from comments c join users u on u.id = c.author_id where c.account_id = $1 order by c.id',
    ),
    notes: await select(
      'select n.body, u.name, n.edited_at is null as is_new from idea_notes n join users u on u.id = n.author_id where n.account_id = $1 order by n.id',
    ),
    mentions: await select(
      `select i.title, c.body, u.name, m.name as written from mentions m join users u on u.id = m.user_id
      join ideas i on i.id = m.idea_id left join comments c on c.id = m.comment_id where m.account_id = $1 order by m.id`,
    ),
    tags: await select('select t.name from idea_tags it join tags t on t.id = it.tag_id where it.account_id = $1'),
    followers: await select(
      `select i.title, u.name from followers f join ideas i on i.id = f.idea_id join users u on u.id = f.user_id
      where f.account_id = $1 order by 1, 2`,
    ),
    events: await select(
      `select e.type, u.name, array(select jsonb_object_keys(e.data) order by 1) as fields from events e
      join users u on u.id = e.actor_id where e.account_id = $1 order by e.occurred_at, e.type`,
    ),
    notifications: await select(
      `select n.kind, u.name from notifications n join users u on u.id = n.user_id where n.account_id = $1 order by n.id`,
    ),
    deliveries: await select(
      `select e.type from webhook_deliveries d join events e on e.id = d.event_id where d.account_id = $1 order by d.id`,
    ),
  };
}
