import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { createMember, createWorld, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { type Seen, signedIn, type Visitor } from './visitor.ts';

const address = 'http://localhost:3000/api/v1/mcp';

let world: World;
let visitor: Visitor;

const server = await startServerForFile({ environment: { PLANS_WITHOUT_AGENT_API: 'starter' } });
beforeEach(async () => {
  world = await createWorld(server, { name: 'Web app' });
  visitor = await signedIn(server, world.ownerId);
});

/** Returns the link targets and the copyable texts of a page. The key of each entry is its label. */
function readPage({ html }: Seen) {
  const page = parse(html);
  const links = page.querySelectorAll('main a[href]').map(link => [link.text, link.getAttribute('href') ?? '']);
  const texts = page.querySelectorAll('.select-all').map(text => [text.getAttribute('aria-label'), text.text]);
  return {
    links: Object.fromEntries(links) as Record<string, string>,
    texts: Object.fromEntries(texts) as Record<string, string>,
  };
}

function readCursorLink(link = '') {
  const { protocol, host, pathname, searchParams } = new URL(link);
  const config = Buffer.from(searchParams.get('config') ?? '', 'base64').toString();
  return { opens: `${protocol}//${host}${pathname}`, name: searchParams.get('name'), config: JSON.parse(config) };
}

/** VS Code decodes the whole query of the link as JSON. */
function readVsCodeLink(link = '') {
  const [opens, query = ''] = link.split('?');
  return { opens, server: JSON.parse(decodeURIComponent(query)) };
}

/** Returns a link, its URL-decoded forms, and the values of its query parameters decoded from Base64. */
function decodingsOf(link: string): string[] {
  const decoded = decodeURIComponent(link);
  const values = [...new URL(link, 'http://localhost').searchParams.values()];
  return [link, decoded, decodeURIComponent(decoded), ...values.map(value => Buffer.from(value, 'base64').toString())];
}

describe('links on the page of API tokens that connect an agent', () => {
  test.each([
    ['all tools', '', 'idea-board', address],
    ['tools that only read', '?tools=read', 'idea-board-read-only', `${address}?readonly=true`],
  ])(
    "every link and command that connects an agent to %s contains the server's MCP address and no secret",
    async (_what, query, name, url) => {
      const { links, texts } = readPage(await visitor.get(`/admin/tokens${query}`));
      expect(readCursorLink(links['Add to Cursor'])).toEqual({
        opens: 'cursor://anysphere.cursor-deeplink/mcp/install',
        name,
        config: { url },
      });
      expect(readVsCodeLink(links['Add to VS Code'])).toEqual({
        opens: 'vscode:mcp/install',
        server: { name, type: 'http', url },
      });
      const byWeb = new URL(links['use the page vscode.dev'] ?? '');
      expect(byWeb.origin + byWeb.pathname).toBe('https://insiders.vscode.dev/redirect');
      expect(byWeb.searchParams.get('url')).toBe(links['Add to VS Code']);
      expect(texts).toEqual({
        'The address of the tools': url,
        'The command for Claude Code': `claude mcp add --transport http ${name} "${url}"`,
        'The command for Codex': `codex mcp add ${name} --url "${url}"`,
        'The lines for the file of Codex': `[mcp_servers.${name}]\nurl = "${url}"`,
      });
      const all = [...Object.values(links).flatMap(decodingsOf), ...Object.values(texts)];
      expect(all.filter(text => /bearer|authorization|ib_\d/i.test(text))).toEqual([]);
    },
  );

  test('a person without JavaScript can switch the links on the page of API tokens from all MCP tools to read-only MCP tools and back', async () => {
    const { html, headers } = await visitor.get('/admin/tokens');
    expect([html.includes('<script'), headers.get('content-security-policy')?.includes('script-src')]).toEqual([
      false,
      false,
    ]);
    const first = readPage({ html } as Seen);
    expect(first.links['Only tools that read']).toBe('/admin/tokens?tools=read#connect-agent');
    const other = await visitor.get('/admin/tokens?tools=read');
    expect(parse(other.html).querySelector('a[aria-current="true"]')?.text).toBe('Only tools that read');
    expect(readPage(other).links['All tools']).toBe('/admin/tokens#connect-agent');
  });

  test('the content security policy of the page of API tokens allows links that open a program, such as VS Code', async () => {
    const { headers } = await visitor.get('/admin/tokens');
    const directives = headers
      .get('content-security-policy')
      ?.split(';')
      .map(one => one.trim().split(' ')[0]);
    expect(directives).toContain('default-src');
    // A page without these directives can open a program with a link, such as a link that begins with vscode:.
    expect(directives).not.toContain('sandbox');
    expect(directives).not.toContain('navigate-to');
  });

  test('the page of API tokens has a link to claude.ai only if BASE_URL begins with https', async () => {
    const local = await visitor.get('/admin/tokens');
    expect(readPage(local).links['Add to Claude']).toBeUndefined();
    expect(local.html).toContain('need an address that begins with https');
    const own = await startServerForTest({ on: server, environment: { BASE_URL: 'https://ideas.example.com' } });
    const there = await signedIn(own, world.ownerId);
    for (const [query, expected] of [
      ['', 'https://ideas.example.com/api/v1/mcp'],
      ['?tools=read', 'https://ideas.example.com/api/v1/mcp?readonly=true'],
    ] as const) {
      const link = new URL(readPage(await there.get(`/admin/tokens${query}`)).links['Add to Claude'] ?? '');
      expect(link.origin + link.pathname).toBe('https://claude.ai/customize/connectors');
      expect(link.searchParams.get('modal')).toBe('add-custom-connector');
      expect(link.searchParams.get('connectorUrl')).toBe(expected);
    }
  });

  test('a moderator or member who requests the page of API tokens gets 403 and no link that connects an agent', async () => {
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    expect((await admin.get('/admin/tokens')).html).toContain('cursor://');
    for (const role of ['moderator', 'member'] as const) {
      const other = await signedIn(server, await createMember(server, world.accountId, role));
      const { status, html } = await other.get('/admin/tokens');
      expect([role, status, /cursor:|vscode:|api\/v1\/mcp/.test(html)]).toEqual([role, 403, false]);
    }
    admin.cookies.clear();
    expect((await admin.get('/admin/tokens')).status).toBe(303);
  });

  test('the page of API tokens has no links that connect an agent if the account has no board or its plan excludes the Agent API', async () => {
    const hasLinks = async () => (await visitor.get('/admin/tokens')).html.includes('connect-agent');
    expect(await hasLinks()).toBe(true);
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [world.accountId]);
    expect(await hasLinks()).toBe(false);
    await server.sql(`update accounts set plan = 'community' where id = $1`, [world.accountId]);
    await server.sql('delete from boards where account_id = $1', [world.accountId]);
    expect(await hasLinks()).toBe(false);
  });
});

describe('the page of a new token', () => {
  const create = async (grant: string) => {
    const seen = await visitor.submit('/admin/tokens', '/admin/tokens', {
      name: 'Agent',
      [`level_${world.boardId}`]: grant,
    });
    expect(seen.status).toBe(201);
    const token = /ib_\d+_[\w-]{43}/.exec(seen.html)?.[0] ?? '';
    return { ...readPage(seen), token };
  };

  test('no link on the page of a new API token contains the token, even after URL decoding or Base64 decoding', async () => {
    const { links, token } = await create('write');
    const secret = token.split('_').slice(2).join('_');
    expect(secret).toHaveLength(43);
    const texts = Object.values(links).flatMap(decodingsOf);
    expect(texts.filter(text => text.includes(secret))).toEqual([]);
    expect(Object.keys(links)).toContain('Add to VS Code');
  });

  test('the configuration in the link to VS Code tells VS Code to ask for the API token and to send it in the Authorization header', async () => {
    const { links } = await create('write');
    for (const [label, url] of [
      ['Add to VS Code', address],
      ['Add to VS Code, read only', `${address}?readonly=true`],
    ] as const) {
      const { server: entry } = readVsCodeLink(links[label]);
      expect(entry).toMatchObject({ type: 'http', url, inputs: [{ type: 'promptString', password: true }] });
      expect(entry.headers.Authorization).toBe(`Bearer \${input:${entry.inputs[0].id}}`);
    }
  });

  test('the commands and settings to copy for Claude Code, Cursor and Codex contain the new API token, and the token works at the MCP endpoint', async () => {
    const { texts, token } = await create('write');
    const [, header = ''] =
      / --header "Authorization: Bearer ([^"]+)"$/.exec(texts['The command for Claude Code'] ?? '') ?? [];
    expect(header).toBe(token);
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await request(server, 'POST /api/v1/mcp', { token: header, json })).status).toBe(200);
    expect(texts['The command for Claude Code']).toContain(`claude mcp add --transport http idea-board "${address}"`);
    expect(JSON.parse(texts['The lines for the file of Cursor'] ?? '')).toEqual({
      mcpServers: { 'idea-board': { url: address, headers: { Authorization: `Bearer ${token}` } } },
    });
    expect(texts['The commands for Codex']).toBe(
      `export IDEA_BOARD_TOKEN=${token}\ncodex mcp add idea-board --url "${address}" --bearer-token-env-var IDEA_BOARD_TOKEN`,
    );
  });

  test('the page of a new write token also shows the read-only MCP address, and the page of a new read token does not', async () => {
    const writing = await create('write');
    expect(writing.texts['The command for Claude Code, read only']).toContain(
      `idea-board-read-only "${address}?readonly=true"`,
    );
    const tools = async (url: string) => {
      const path = url.slice(new URL(url).origin.length);
      const json = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const { body } = await request(server, `POST ${path}`, { token: writing.token, json });
      return (body.result.tools as { annotations: { readOnlyHint: boolean } }[]).map(tool => tool.annotations);
    };
    expect((await tools(address)).some(tool => !tool.readOnlyHint)).toBe(true);
    expect((await tools(`${address}?readonly=true`)).every(tool => tool.readOnlyHint)).toBe(true);
    const reading = await create('read');
    expect(reading.texts['The command for Claude Code']).toContain(`"${address}"`);
    expect(JSON.stringify([reading.links, reading.texts])).not.toContain('readonly');
  });
});
