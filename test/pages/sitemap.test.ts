import { XmlDocument } from 'libxml2-wasm';
import { expect, test } from 'vitest';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile } from '../helpers/server.ts';

const clock = testClock('2026-01-01T00:00:00Z');

const server = await startServerForFile({ environment: { BASE_URL: 'https://ideas.example.com' }, clock });
const world = await createWorld(server, {
  isPublic: true,
  statuses: [
    { key: 'open', category: 'inbox', label: 'Open' },
    { key: 'spam', category: 'archived', label: 'Spam', isHidden: true },
  ],
});

const get = (path: string) => request(server, `GET ${path}`);

/** Parses a sitemap with a strict XML parser. Returns the URLs in the sitemap without their origin. */
async function urlsIn(path: string) {
  const { status, text, headers } = await get(path);
  expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'application/xml; charset=utf-8']);
  expect(headers.get('cache-control')).toBe('public, max-age=0, s-maxage=15, must-revalidate');
  using document = XmlDocument.fromString(text);
  const urls = document.find('//s:loc', { s: 'http://www.sitemaps.org/schemas/sitemap/0.9' });
  return urls.map(({ content }) => content.replace(/^https:\/\/ideas\.example\.com(?=\/)/, ''));
}

/** Returns the URLs in all parts of the sitemap. /sitemap.xml lists these parts. */
async function allUrls() {
  // The server caches the list of parts for ten minutes.
  clock.advance(600_000);
  const parts = await Promise.all((await urlsIn('/sitemap.xml')).map(urlsIn));
  return parts.flat().sort();
}

test('the sitemap lists public boards, their roadmaps and their published ideas, but no private board and no hidden, pending, rejected or merged idea', async () => {
  const put = (status = 'open', input = {}) => insertIdea(server, world, { status, ...input });
  const [shown, source] = [await put(), await put()];
  await put('spam');
  await put('open', { moderationState: 'pending' });
  await put('open', { moderationState: 'rejected' });
  await runAsUser(server, world, world.ownerId, op => mergeIdea(op, source, shown));
  const secret = await createBoard(server, world.accountId);
  await insertIdea(server, { ...world, boardId: secret.id });
  const board = `/b/${world.boardSlug}`;
  expect(await allUrls()).toEqual([board, `${board}/ideas/${shown}`, `${board}/roadmap`]);
});

test('after a public board becomes private, the next request for the sitemap gets no URLs of the board', async () => {
  const other = await createWorld(server, { isPublic: true });
  const id = await insertIdea(server, other);
  const path = `/b/${other.boardSlug}`;
  expect(await allUrls()).toEqual(expect.arrayContaining([path, `${path}/ideas/${id}`]));
  await server.sql('update boards set is_public = false where id = $1', [other.boardId]);
  const parts = await Promise.all((await urlsIn('/sitemap.xml')).map(part => get(part)));
  expect(parts.map(({ text }) => text).join('')).not.toContain(path);
});

test('ideas with very different ids are in different parts of the sitemap, and a request for a missing part gets 404', async () => {
  await server.sql(`select setval(pg_get_serial_sequence('ideas', 'id'), 12345)`);
  const distant = await insertIdea(server, world);
  expect(await allUrls()).toContain(`/b/${world.boardSlug}/ideas/${distant}`);
  expect(await urlsIn('/sitemap.xml')).toEqual(['/sitemap-1.xml', '/sitemap-3.xml']);
  expect(await urlsIn('/sitemap-3.xml')).toEqual([`/b/${world.boardSlug}/ideas/${distant}`]);
  for (const part of ['0', '2', '4', '9'.repeat(30), 'x', '']) {
    expect([part, (await get(`/sitemap-${part}.xml`)).status]).toEqual([part, 404]);
  }
});

test('the server caches the list of sitemap parts for ten minutes and then updates the list', async () => {
  await allUrls();
  await server.sql(`select setval(pg_get_serial_sequence('ideas', 'id'), 54321)`);
  await insertIdea(server, world);
  expect(await urlsIn('/sitemap.xml')).not.toContain('/sitemap-11.xml');
  clock.advance(600_000);
  expect(await urlsIn('/sitemap.xml')).toContain('/sitemap-11.xml');
});

test('the file robots.txt names the sitemap, and forbids crawlers to visit the admin area, the API, OAuth and the unsubscribe page', async () => {
  const { status, text, headers } = await get('/robots.txt');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(text.split('\n')).toEqual([
    'User-agent: *',
    'Disallow: /admin',
    'Disallow: /api/',
    'Disallow: /oauth/',
    'Disallow: /unsubscribe',
    '',
    'Sitemap: https://ideas.example.com/sitemap.xml',
    '',
  ]);
});
