import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { hostOrigin, signToken } from '../helpers/embedding.ts';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { hiddenFields, signedIn, Visitor } from './visitor.ts';

let world: World;
let visitor: Visitor;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server, { isPublic: true });
  visitor = await signedIn(server, world.ownerId);
  server.auditLines.length = 0;
});

const path = '/admin/account/embedding';
const saveOrigins = (origins: string) => visitor.submit(path, path, { origins });
const createSecret = () => visitor.submit(path, `${path}/secrets`);
const originsOf = async () =>
  (
    await server.sql<{ embedding_origins: string[] }>('select embedding_origins from accounts where id = $1', [
      world.accountId,
    ])
  )[0]?.embedding_origins;
const secretIn = (html: string) => /ibe_[\w-]{43}/.exec(html)?.[0] ?? '';
const plainText = (html: string) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
const told = () =>
  readAudit(server.auditLines).map(({ time: _, by: __, by_user_id: userId, ...line }) => ({ ...line, userId }));

describe('the origins that may embed the boards of an account', () => {
  test.each([
    ['https://app.example.com', ['https://app.example.com']],
    [' https://App.Example.com/ ,\nhttps://app.example.com', ['https://app.example.com']],
    ['https://a.example:8443 http://localhost:8080', ['https://a.example:8443', 'http://localhost:8080']],
    ['http://localhost', ['http://localhost']],
    ['https://bücher.example', ['https://xn--bcher-kva.example']],
    ['https://app.example.com:443', ['https://app.example.com']],
    ['', []],
  ])(
    'an owner can allow the origins %j to embed boards, and the server stores the origins in the spelling that browsers send',
    async (typed, saved) => {
      const { status, location } = await saveOrigins(typed);
      expect([status, location]).toEqual([303, `${path}?notice=saved`]);
      expect(await originsOf()).toEqual(saved);
      const changed = { event: 'account.updated', account_id: world.accountId, changed: ['embedding_origins'] };
      expect(told()).toEqual(saved.length > 0 ? [{ ...changed, userId: world.ownerId }] : []);
    },
  );

  test.each([
    'http://app.example.com',
    'http://localhost.example.com',
    'https://*.example.com',
    '*',
    'app.example.com',
    'https://app.example.com/path',
    'https://app.example.com?x',
    'https://ada@app.example.com',
    'https://[::1]',
    'data:text/html,x',
    'https:',
    "https://app.example.com;script-src'none'",
    "'self'",
  ])(
    'the server refuses the invalid origin %j in the embedding settings, and the form still shows this origin',
    async typed => {
      await saveOrigins('https://first.example.com');
      const { status, html } = await saveOrigins(`https://app.example.com ${typed}`);
      expect([status, html.includes('is not an origin such as')]).toEqual([422, true]);
      expect(plainText(html)).toContain(`https://app.example.com ${typed}</textarea>`);
      expect(await originsOf()).toEqual(['https://first.example.com']);
    },
  );

  test('an account can allow at most 20 origins to embed its boards', async () => {
    const origins = Array.from({ length: 21 }, (_, n) => `https://app${n}.example.com`);
    expect((await saveOrigins(origins.join('\n'))).status).toBe(422);
    expect((await saveOrigins(origins.slice(1).join('\n'))).status).toBe(303);
    expect(await originsOf()).toHaveLength(20);
  });
});

describe('the embedding secrets of an account', () => {
  test('a new embedding secret is shown once and stored encrypted, and an account can have at most two embedding secrets', async () => {
    const made = await createSecret();
    const secret = secretIn(made.html);
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect((await visitor.get(path)).html).not.toContain(secret);
    const [row] = await server.sql<{ id: number; secret: Buffer }>(
      'select id, secret from embedding_secrets where account_id = $1',
      [world.accountId],
    );
    expect(row?.secret.toString('latin1')).not.toContain(secret.slice(4));
    const page = await visitor.get(path);
    const form = hiddenFields(page.html, `${path}/secrets`);
    const answers = await Promise.all([form, form].map(fields => visitor.post(`${path}/secrets`, fields)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await visitor.get(path)).html).not.toContain(`action="${path}/secrets"`);
    const third = await visitor.post(`${path}/secrets`, { ...form, form_id: 'x'.repeat(22) });
    expect([third.status, third.html.includes('has 2 secrets already')]).toEqual([409, true]);

    const question = `${path}/secrets/${row?.id}/delete`;
    expect((await visitor.submit(question, question)).location).toBe(`${path}?notice=deleted`);
    expect(await server.sql('select from embedding_secrets where account_id = $1', [world.accountId])).toHaveLength(1);
    expect((await createSecret()).status).toBe(201);
    const entry = { account_id: world.accountId, userId: world.ownerId, embedding_secret_id: expect.any(Number) };
    expect(told()).toEqual(
      ['created', 'created', 'deleted', 'created'].map(what => ({ ...entry, event: `embedding_secret.${what}` })),
    );
  });

  test('the sample code for a new embedding secret creates an embedding token, and a person can sign in with this token through the sample form', async () => {
    await saveOrigins(hostOrigin);
    const { html } = await createSecret();
    const [secret = '', code = '', page = ''] = [...html.matchAll(/<pre[^>]*>(.*?)<\/pre>/gs)].map(([, one = '']) =>
      plainText(one),
    );
    const program = `${code}\nconsole.log(await ideaBoardToken({ id: 7, email: 'ada@app.example.com', name: 'Ada' }));`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      env: { IDEA_BOARD_SECRET: secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const token = (await text(child.stdout)).trim();
    const action = /action="([^"]+)"/.exec(page)?.[1] ?? '';
    const { pathname, search, origin } = new URL(action);
    expect(origin).toBe(server.config.BASE_URL);
    const answer = await new Visitor(server).post(pathname + search, { token }, { headers: { origin: hostOrigin } });
    expect(answer.location).toBe(`/b/${world.boardSlug}/embed?sign_in=done`);
  });

  test("people can sign in with tokens that are signed with either embedding secret of an account, and the settings page shows each secret's last use", async () => {
    await saveOrigins(hostOrigin);
    const secrets = [secretIn((await createSecret()).html), secretIn((await createSecret()).html)];
    expect((await visitor.get(path)).html.match(/never used/g)).toHaveLength(2);
    for (const secret of secrets) {
      const token = await signToken(server, secret);
      const answer = await new Visitor(server).get(`/b/${world.boardSlug}/embed?token=${token}`);
      expect(answer.location).toContain('sign_in=done');
    }
    expect((await visitor.get(path)).html.match(/last used/g)).toHaveLength(2);
  });

  test('only owners and admins of an account can see its embedding settings, and create and delete its embedding secrets', async () => {
    await createSecret();
    const [{ id } = { id: 0 }] = await server.sql<{ id: number }>(
      'select id from embedding_secrets where account_id = $1',
      [world.accountId],
    );
    for (const role of ['member', 'moderator'] as const) {
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const fields = hiddenFields((await other.get('/admin')).html, '/admin/sign-out');
      for (const answer of [
        await other.get(path),
        await other.post(path, { ...fields, origins: hostOrigin }),
        await other.post(`${path}/secrets`, fields),
        await other.post(`${path}/secrets/${id}/delete`, fields),
      ]) {
        expect([role, answer.status]).toEqual([role, 403]);
      }
    }
    const stranger = await signedIn(server, (await createWorld(server)).ownerId);
    const fields = hiddenFields((await stranger.get('/admin')).html, '/admin/sign-out');
    expect((await stranger.post(`${path}/secrets/${id}/delete`, fields)).status).toBe(404);
    expect(await server.sql('select from embedding_secrets where account_id = $1', [world.accountId])).toHaveLength(1);
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    expect((await admin.get(path)).status).toBe(200);
  });
});

test('the embedding settings are in German for a browser that prefers German', async () => {
  const headers = { 'accept-language': 'de' };
  expect((await visitor.get(path, { headers })).html).toContain('Websites, die die Boards zeigen dürfen');
  const { html } = await visitor.post(
    path,
    { ...hiddenFields((await visitor.get(path)).html, path), origins: 'http://x' },
    { headers },
  );
  expect(html).toContain('ist kein Ursprung wie https://app.example.com');
});
