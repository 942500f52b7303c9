import { beforeEach, describe, expect, test } from 'vitest';
import { createChannel } from '../../server/domain/chat/channels.ts';
import { chatUrlPurpose } from '../../server/domain/chat/chat-url.ts';
import type { ChatKind } from '../../server/entities/chat-channel.ts';
import { readAudit } from '../helpers/audit.ts';
import { createBoard, createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { closeEarly, startReceiver } from '../helpers/receiver.ts';
import { startServerForFile } from '../helpers/server.ts';
import { administer, testSecretBox } from '../helpers/webhooks.ts';
import { hiddenFields, signedIn, type Visitor } from './visitor.ts';

let world: World;
let visitor: Visitor;
let formToken: string;

const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const receiver = closeAfterAll(await startReceiver(200));
beforeEach(async () => {
  world = await createWorld(server, { name: 'Web app' });
  visitor = await signedIn(server, world.ownerId);
  formToken = hiddenFields((await visitor.get('/admin')).html, '/admin/sign-out').form_token ?? '';
  server.auditLines.length = 0;
  receiver.received.length = 0;
  receiver.respondWith(200);
});

const list = '/admin/chat';
const slackUrl = 'https://hooks.slack.com/services/T000/B000/a-secret-path';
const create = (fields: Record<string, string>) => visitor.submit(list, list, { board: world.boardSlug, ...fields });
const channels = (of = world) =>
  server.sql<{ id: number; kind: string; name: string; url: Buffer; event_types: string[]; disabled_at: unknown }>(
    'select * from chat_channels where account_id = $1 order by id',
    [of.accountId],
  );
const addChannel = async (of: World, kind: ChatKind = 'slack', url = slackUrl) =>
  (
    await administer(server, admin =>
      createChannel(admin, testSecretBox, { accountId: of.accountId, boardId: of.boardId, kind, url, name: '#ideas' }),
    )
  ).id;
const told = () => readAudit(server.auditLines).map(({ time: _, ...line }) => line);
const byOwner = () => ({ by: 'user', by_user_id: world.ownerId, account_id: world.accountId });

describe('a chat channel', () => {
  test("an owner can send a test message to a new chat channel, and no page or log shows the secret path in the channel's URL", async () => {
    const url = `${receiver.url}/hooks/a-secret-path`;
    const added = await create({
      kind: 'mattermost',
      url,
      name: ' #feedback ',
      'event_idea.created': '1',
      'event_idea.merged': '1',
    });
    expect([added.status, added.location]).toEqual([303, `${list}?notice=created`]);
    const [channel] = await channels();
    expect(channel).toMatchObject({
      kind: 'mattermost',
      name: '#feedback',
      event_types: ['idea.created', 'idea.merged'],
    });
    expect(testSecretBox.open(channel?.url ?? Buffer.of(), chatUrlPurpose)).toBe(url);

    const path = `${list}/${channel?.id}/test`;
    const posted = await visitor.submit(list, path);
    expect([posted.status, posted.location]).toEqual([303, `${list}?notice=tested`]);
    const [received] = await receiver.waitForRequests(1);
    expect([received?.path, JSON.parse(received?.body ?? '')]).toEqual([
      '/hooks/a-secret-path',
      { text: expect.stringContaining('Web app') },
    ]);
    receiver.respondWith(response => response.writeHead(403).end('a-secret-path'));
    const refused = await visitor.submit(list, path);
    expect([refused.status, refused.html.includes('The chat answered 403')]).toEqual([409, true]);
    receiver.respondWith(closeEarly);
    const closed = await visitor.submit(list, path);
    expect([closed.status, closed.html.includes('The connection was closed')]).toEqual([409, true]);
    // Accepts more than three messages. If the chat server closed the first connection early, Idea-Board may send the
    // message again on a new connection.
    expect(receiver.received.length).toBeGreaterThanOrEqual(3);

    const { html } = await visitor.get(`${list}?notice=tested`);
    for (const text of ['The test message was posted', 'Mattermost', '#feedback', `${receiver.url}/…`]) {
      expect(html).toContain(text);
    }
    const deletion = await visitor.get(`${list}/${channel?.id}/delete`);
    const shown = [html, refused.html, closed.html, deletion.html, ...server.logLines, ...server.auditLines].join('');
    expect(shown).not.toContain('a-secret-path');
    expect(told()).toEqual([
      {
        event: 'chat_channel.created',
        ...byOwner(),
        channel_id: channel?.id,
        board_id: world.boardId,
        kind: 'mattermost',
      },
      ...Array(3).fill({ event: 'chat_channel.tested', ...byOwner(), channel_id: channel?.id }),
    ]);
  });

  test('an invalid chat channel is refused, and the form explains the mistake and keeps the entered name and events, but not the URL', async () => {
    const cases: [Record<string, string>, string][] = [
      [{ url: '' }, 'is not a URL'],
      [{ kind: 'discord' }, 'must be the URL of an incoming webhook'],
      [{ kind: 'mattermost', url: 'http://10.0.0.8/hooks/a-secret-path' }, 'the public internet'],
      [{ kind: 'irc' }, 'Choose a chat'],
      [{ board: '' }, 'Choose a board'],
      [{ board: 'gone' }, 'Choose a board from the list'],
      [{ board: 'a\0b' }, 'Choose a board from the list'],
      [{ name: 'x'.repeat(101) }, 'at most 100 characters'],
    ];
    for (const [given, why] of cases) {
      const answer = await create({
        kind: 'slack',
        url: slackUrl,
        name: '"Ideas"',
        'event_idea.created': '1',
        ...given,
      });
      expect([given, answer.status, answer.html.includes(why)]).toEqual([given, 422, true]);
      expect(answer.html).not.toContain('a-secret-path');
      if (given.name === undefined) expect(answer.html).toContain('value="&quot;Ideas&quot;"');
      expect(answer.html).toMatch(/name="event_idea\.created" value="1" checked>/);
    }
    expect([await channels(), server.auditLines]).toEqual([[], []]);
  });

  test('an owner can disable a chat channel after a confirmation, enable it again, and delete it after a confirmation', async () => {
    const id = await addChannel(world);
    const path = `${list}/${id}`;
    expect((await visitor.get(`${path}/disable`)).html).toContain('Disable <bdi>#ideas</bdi>?');
    const disabled = await visitor.submit(`${path}/disable`, `${path}/disable`);
    expect(disabled.location).toBe(`${list}?notice=disabled`);
    expect((await visitor.get(list)).html).toContain('Disabled by an administrator');
    const enabled = await visitor.submit(list, `${path}/enable`);
    expect([enabled.location, (await channels())[0]?.disabled_at]).toEqual([`${list}?notice=enabled`, null]);
    expect((await visitor.get(`${path}/delete`)).html).toContain('Delete <bdi>#ideas</bdi>?');
    const deleted = await visitor.submit(`${path}/delete`, `${path}/delete`);
    expect([deleted.location, await channels()]).toEqual([`${list}?notice=deleted`, []]);
    expect(told()).toEqual([
      { event: 'chat_channel.disabled', ...byOwner(), channel_id: id, reason: 'administrator' },
      { event: 'chat_channel.enabled', ...byOwner(), channel_id: id },
      { event: 'chat_channel.deleted', ...byOwner(), channel_id: id },
    ]);
  });

  test('an owner can see and delete a chat channel whose URL cannot be decrypted, but cannot send a test message to it', async () => {
    const id = await addChannel(world);
    await server.sql('update chat_channels set url = $2 where id = $1', [id, Buffer.alloc(60, 1)]);
    expect((await visitor.get(list)).html).toContain('encrypted with another APP_KEY');
    expect((await visitor.submit(list, `${list}/${id}/test`)).status).toBe(409);
    expect((await visitor.submit(`${list}/${id}/delete`, `${list}/${id}/delete`)).status).toBe(303);
  });
});

describe('the pages of chat channels', () => {
  const gets = (id: number) => ['disable', 'delete'].map(verb => `${list}/${id}/${verb}`);
  const posts = (id: number) => ['test', 'disable', 'enable', 'delete'].map(verb => `${list}/${id}/${verb}`);

  test.each(['moderator', 'member'] as const)(
    'a person with the role %s cannot open the admin pages of chat channels or send the forms on these pages',
    async role => {
      const id = await addChannel(world, 'mattermost', `${receiver.url}/hooks/x`);
      const before = await channels();
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const { html } = await other.get('/admin');
      expect(html).not.toContain(list);
      const { form_token = '' } = hiddenFields(html, '/admin/sign-out');
      for (const path of [list, ...gets(id)]) expect([path, (await other.get(path)).status]).toEqual([path, 403]);
      for (const path of [list, ...posts(id)]) {
        const answer = await other.post(path, { form_token, kind: 'slack', board: world.boardSlug, url: slackUrl });
        expect([path, answer.status]).toEqual([path, 403]);
      }
      expect([await channels(), receiver.received]).toEqual([before, []]);
    },
  );

  test("requests for the chat channels of another account get 404, and a request to create a channel for another account's board gets 422", async () => {
    const other = await createWorld(server);
    const id = await addChannel(other, 'mattermost', `${receiver.url}/hooks/x`);
    const before = await channels(other);
    for (const path of gets(id)) expect([path, (await visitor.get(path)).status]).toEqual([path, 404]);
    for (const path of posts(id)) {
      expect([path, (await visitor.post(path, { form_token: formToken })).status]).toEqual([path, 404]);
    }
    expect((await create({ kind: 'slack', url: slackUrl, board: other.boardSlug })).status).toBe(422);
    expect([await channels(other), await channels(), receiver.received]).toEqual([before, [], []]);
    expect(server.auditLines).toEqual([]);
  });

  test('the list of chat channels shows 30 channels on two pages and escapes HTML in names, and an account can have at most 100 channels', async () => {
    const hostile = `"><img src=x onerror='alert(1)'>\u202e`;
    const { id: second } = await createBoard(server, world.accountId, { name: hostile });
    await server.sql('update accounts a set name = $2 where id = $1', [world.accountId, hostile]);
    await server.sql(
      `insert into chat_channels (account_id, board_id, kind, name, url, disabled_at, disabled_reason, event_types)
      select $1, case when n % 2 = 0 then $2::bigint else $3 end, 'teams', $4 || repeat('W', 60), $5, now(), $4, '{idea.created,comment.created}'
      from generate_series(1, 30) n`,
      [world.accountId, world.boardId, second, hostile, testSecretBox.seal(slackUrl, chatUrlPurpose)],
    );
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin', hostile));
    const first = await admin.get(list);
    const next = /rel="next" href="([^"]+)"/.exec(first.html)?.[1] ?? '';
    const rest = await admin.get(next);
    expect([first, rest].map(one => one.html.match(/<li class="card/g)?.length)).toEqual([20, 10]);
    expect(Buffer.byteLength(first.html)).toBeLessThan(38_000);
    const [channel] = await channels();
    const pages = [first, rest, ...(await Promise.all(gets(channel?.id ?? 0).map(path => admin.get(path))))];
    for (const { html, status } of pages) {
      expect([status, html.includes('<img'), html.includes('\u202e')]).toEqual([200, false, false]);
      expect(html).toContain('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;');
    }
    // An account has at most 100 channels, because each event can cause a message to every channel.
    await server.sql(
      `insert into chat_channels (account_id, board_id, kind, name, url, event_types)
      select $1, $2, 'teams', '', '', '{}' from generate_series(1, 70)`,
      [world.accountId, world.boardId],
    );
    const refused = await create({ kind: 'slack', url: slackUrl });
    expect([refused.status, refused.html.includes('has 100 channels already')]).toEqual([409, true]);
  });
});
