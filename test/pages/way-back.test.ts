import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { hiddenFields, type Seen, signedIn, Visitor } from '../admin/visitor.ts';
import { createAccount, createMember, createTag, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';

let world: World;
let ideaId: number;
let pendingId: number;
let tagId: number;
let moderatorId: number;
let moderator: Visitor;

const server = await startServerForFile({
  environment: { RATE_LIMIT_SIGN_IN_IP: '1000000', RATE_LIMIT_IP: '1000000' },
});
beforeEach(async () => {
  world = await createWorld(server, { isPublic: true });
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
  pendingId = await insertIdea(server, world, { title: 'Import', moderationState: 'pending' });
  tagId = await createTag(server, world.accountId, world.boardId, 'Design');
  moderatorId = await createMember(server, world.accountId, 'moderator');
  moderator = await signedIn(server, moderatorId);
});

const boardPath = () => `/b/${world.boardSlug}`;
const ideaPath = (id = ideaId) => `${boardPath()}/ideas/${id}`;
const inAdmin = (id: number, form: string) => `/admin/ideas/${id}/${form}?on=${world.boardSlug}`;

/** The forms for moderators on the board's page of an idea. They post to paths of the admin area. */
const moderatorForms = (): [path: string, fields: Record<string, string>, page: string][] => [
  [inAdmin(ideaId, 'status'), { status: 'done', reply: 'It is here.' }, ideaPath()],
  [inAdmin(ideaId, 'tags'), { tag_id: String(tagId) }, ideaPath()],
  [inAdmin(ideaId, `tags/${tagId}/remove`), {}, ideaPath()],
  [inAdmin(ideaId, 'merge'), { target_id: String(ideaId) }, ideaPath()],
  [inAdmin(pendingId, 'approve'), {}, ideaPath(pendingId)],
  [inAdmin(pendingId, 'reject'), { reason: 'No.' }, ideaPath(pendingId)],
];

async function formTokenOf(visitor: Visitor) {
  const { form_token = '' } = hiddenFields((await visitor.get('/b/none')).html, '/admin/sign-out');
  return { form_token };
}

/** Returns the links in the main part of a page with their texts. */
const linksIn = ({ html }: Seen) =>
  parse(html)
    .querySelectorAll('main a')
    .map(link => [link.textContent, link.getAttribute('href')]);

const stored = () =>
  server.sql(
    `select i.moderation_state, i.merged_into_id, s.key, (select count(*)::int from idea_tags t where t.idea_id = i.id) as tags
    from ideas i join statuses s on s.id = i.status_id where i.account_id = $1 order by i.id`,
    [world.accountId],
  );

describe('forms for moderators on a board', () => {
  test('a person who is no longer a moderator gets a refusal that links back to the idea on the board, and changes nothing', async () => {
    const token = await formTokenOf(moderator);
    const before = await stored();
    await server.sql(`update memberships set role = 'member' where user_id = $1`, [moderatorId]);
    for (const [path, fields, page] of moderatorForms()) {
      const refused = await moderator.post(path, { ...token, ...fields });
      expect([path, refused.status, linksIn(refused)]).toEqual([path, 403, [['Back', page]]]);
    }
    expect((await moderator.get(ideaPath())).status).toBe(200);
    expect(await stored()).toEqual(before);
  });

  test('a person who was removed from one of several accounts gets a refusal that links back to the idea on the board', async () => {
    const { accountId } = await createAccount(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
      accountId,
      moderatorId,
    ]);
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    const token = await formTokenOf(moderator);
    await server.sql('delete from memberships where user_id = $1 and account_id = $2', [moderatorId, world.accountId]);
    for (const [path, fields, page] of moderatorForms()) {
      const refused = await moderator.post(`${path}&account=${account?.slug}`, { ...token, ...fields });
      const link = ['Back', `${page}?account=${account?.slug}`];
      expect([path, refused.status, linksIn(refused)]).toEqual([path, 404, [link]]);
    }
    expect((await moderator.get(`${ideaPath()}?account=${account?.slug}`)).status).toBe(200);
  });

  test('after the end of the session or with an expired form, the sign-in page and the refusal lead back to the idea on the board', async () => {
    for (const [path, fields, page] of moderatorForms()) {
      const stale = await moderator.post(path, fields);
      expect([path, stale.status, linksIn(stale)]).toEqual([path, 403, [['Back', page]]]);
      const { location } = await new Visitor(server).post(path, fields);
      // The form for a rejection and the search for a merge target have pages of their own.
      const next = /reject|merge/.test(path) ? path : page;
      expect([path, location]).toEqual([path, `/sign-in?${new URLSearchParams({ next, notice: 'expired' })}`]);
    }
  });

  test('if the board was frozen meanwhile, every refused form leads back to the idea on the board, and a refused status keeps its official reply', async () => {
    const token = await formTokenOf(moderator);
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    const before = await stored();
    for (const [path, fields, page] of moderatorForms().filter(([form]) => !form.includes('merge'))) {
      const refused = await moderator.post(path, { ...token, ...fields });
      expect([path, [409, 423].includes(refused.status), refused.html.includes('is frozen')]).toEqual([
        path,
        true,
        true,
      ]);
      expect(linksIn(refused).map(([, href]) => href)).toContain(page);
    }
    expect(await stored()).toEqual(before);
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    const [[path = '', fields = {}] = []] = moderatorForms();
    const conflict = await moderator.post(path, { ...token, ...fields, status: 'gone' });
    expect([conflict.status, conflict.html.includes('It is here.</textarea>')]).toEqual([422, true]);
    const again = await moderator.post(path, { ...hiddenFields(conflict.html, path), ...fields });
    expect(again.location).toBe(`${ideaPath()}?notice=status_set`);
  });

  test('if another moderator has already rejected the idea, the question before a rejection leads back to the board, because the idea has no page', async () => {
    await moderator.submit(inAdmin(pendingId, 'reject'), inAdmin(pendingId, 'reject'), { reason: 'No.' });
    const refused = await moderator.get(inAdmin(pendingId, 'reject'));
    expect([refused.status, linksIn(refused)]).toEqual([409, [['Back', boardPath()]]]);
  });

  test('a refusal in the admin area never links to another server, even if the URL names one as the board', async () => {
    const refused = await moderator.post(`/admin/ideas/${ideaId}/status?on=%2F%2Fevil.example%2F`, {});
    expect(linksIn(refused)).toEqual([['Back', `/b/%2F%2Fevil.example%2F/ideas/${ideaId}`]]);
  });
});

describe('forms for members on a board', () => {
  test('a person who is no longer a member, and a member with an expired form, get refusals that link back to the idea or the board', async () => {
    const token = await formTokenOf(moderator);
    const forms = [
      ...['vote', 'comments', 'follow', 'edit', 'delete'].map(form => [`${ideaPath()}/${form}`, ideaPath()]),
      [`${boardPath()}/new`, boardPath()],
    ];
    const refusals = async (fields: Record<string, string>) => {
      for (const [path = '', page] of forms) {
        const refused = await moderator.post(path, fields);
        expect([path, refused.status, linksIn(refused)]).toEqual([path, 403, [['Back', page]]]);
      }
    };
    await refusals({});
    await server.sql('delete from memberships where user_id = $1', [moderatorId]);
    await refusals({ ...token, value: 'up', body: 'Me too', follow: 'yes', title: 'Another' });
    expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
    expect(await server.sql('select from comments where idea_id = $1', [ideaId])).toEqual([]);
  });

  test("the refusal to edit another person's idea links back to the idea", async () => {
    const member = await signedIn(server, await createMember(server, world.accountId, 'member'));
    const refused = await member.get(`${ideaPath()}/edit`);
    expect([refused.status, linksIn(refused)]).toEqual([403, [['Back', ideaPath()]]]);
  });
});
