import { parse } from 'node-html-parser';
import sharp from 'sharp';
import { beforeEach, describe, expect, test } from 'vitest';
import { setPicture } from '../../server/domain/pictures/pictures.ts';
import { readAudit } from '../helpers/audit.ts';
import { createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { administer } from '../helpers/webhooks.ts';
import { hiddenFields, signedIn, Visitor } from './visitor.ts';

const page = '/admin/profile/picture';
let world: World;
let memberId: number;
let member: Visitor;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server, { isPublic: true });
  memberId = await createMember(server, world.accountId, 'member', 'Mona');
  member = await signedIn(server, memberId);
  server.auditLines.length = 0;
});

/** Draws a picture whose left half is red and whose right half is blue. */
function draw(width = 400, height = 200) {
  const half = { create: { width: width / 2, height, channels: 3 as const, background: 'red' } };
  return sharp({ create: { width, height, channels: 3, background: 'blue' } }).composite([
    { input: half, left: 0, top: 0 },
  ]);
}

/** Sends the form of the page as a browser does, with the fields in the order of the form. */
async function upload(file: Uint8Array | undefined, by = member, fields: Record<string, string> = {}) {
  const { html } = await by.get(page);
  const body = new FormData();
  if (file) body.append('picture', new Blob([file], { type: 'image/png' }), 'me.png');
  for (const [name, value] of Object.entries({ ...fields, ...hiddenFields(html, page) })) body.append(name, value);
  return by.sendForm(page, body);
}

const pictureIn = (html: string) => parse(html).querySelector('main img')?.getAttribute('src');
const problemIn = (html: string) => parse(html).querySelector('#problem')?.textContent.trim();

describe('the picture of a person', () => {
  test('an uploaded JPEG, PNG or WebP picture becomes a WebP square of 128 pixels without the metadata of the camera', async () => {
    const exif = { IFD0: { Copyright: 'the place of the photo' } };
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const file = await draw().withExif(exif).toFormat(format).toBuffer();
      expect((await sharp(file).metadata()).exif).toBeDefined();
      expect((await upload(file)).status).toBe(303);
      const path = pictureIn((await member.get(page)).html) ?? '';
      const response = await fetch(server.baseUrl + path);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/webp']);
      const { width, height, format: kept, exif: left } = await sharp(await response.bytes()).metadata();
      expect({ width, height, kept, left }).toEqual({ width: 128, height: 128, kept: 'webp', left: undefined });
    }
    expect(readAudit(server.auditLines).at(-1)).toMatchObject({
      event: 'user.updated',
      user_id: memberId,
      changed: ['avatar_url'],
    });
  });

  test('visitors see the picture of a person beside the ideas and comments of the person', async () => {
    const ideaId = await insertIdea(server, world, { authorId: memberId });
    await server.sql('insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, $4)', [
      world.accountId,
      ideaId,
      memberId,
      'So do I.',
    ]);
    const ideaPath = `/b/${world.boardSlug}/ideas/${ideaId}`;
    expect(pictureIn((await member.get(ideaPath)).html)).toBeUndefined();
    await upload(await draw().png().toBuffer());
    const { html } = await new Visitor(server).get(ideaPath);
    const shown = parse(html)
      .querySelectorAll('main img')
      .map(image => image.getAttribute('src'));
    const own = pictureIn((await member.get(page)).html);
    expect(shown).toEqual([own, own]);
  });

  test('a new picture of a person has a new URL path, and the paths of replaced and removed pictures answer 404', async () => {
    await upload(await draw().png().toBuffer());
    const first = pictureIn((await member.get(page)).html) ?? '';
    await upload(await draw(100, 100).png().toBuffer());
    const second = pictureIn((await member.get(page)).html) ?? '';
    expect(second).not.toBe(first);
    const statusOf = async (path: string) => (await fetch(server.baseUrl + path)).status;
    expect([await statusOf(first), await statusOf(second)]).toEqual([404, 200]);
    expect((await upload(undefined, member, { remove: 'yes' })).status).toBe(303);
    expect(await statusOf(second)).toBe(404);
    expect(await server.sql('select from pictures where user_id = $1', [memberId])).toEqual([]);
    expect(await statusOf('/pictures/x.webp')).toBe(404);
  });
});

describe('the picture of a member', () => {
  const membersPath = () => `/admin/members/${memberId}`;

  test('an admin can remove the picture of a member after a confirmation, and the audit entry names the admin and the account', async () => {
    await upload(await draw(4, 4).png().toBuffer());
    const adminId = await createMember(server, world.accountId, 'admin');
    const admin = await signedIn(server, adminId);
    expect(pictureIn((await admin.get(membersPath())).html)).toMatch(/^\/pictures\//);
    expect((await admin.get(membersPath())).html).toContain(`href="${membersPath()}/picture"`);
    const { location } = await admin.submit(`${membersPath()}/picture`, `${membersPath()}/picture`);
    const { html } = await admin.get(location ?? '');
    expect(html).toContain('The picture is removed.');
    expect(pictureIn(html)).toBeUndefined();
    expect(await server.sql('select from pictures where user_id = $1', [memberId])).toEqual([]);
    expect(readAudit(server.auditLines).at(-1)).toMatchObject({
      event: 'user.updated',
      by: 'user',
      by_user_id: adminId,
      account_id: world.accountId,
      user_id: memberId,
      changed: ['avatar_url'],
    });
  });

  test('admins and moderators cannot remove the picture of an owner, and an owner cannot remove a picture in another account', async () => {
    await upload(await draw(4, 4).png().toBuffer());
    await server.sql(`update memberships set role = 'owner' where user_id = $1`, [memberId]);
    const admin = await signedIn(server, await createMember(server, world.accountId, 'admin'));
    const moderator = await signedIn(server, await createMember(server, world.accountId, 'moderator'));
    const stranger = await signedIn(server, (await createWorld(server)).ownerId);
    const path = `${membersPath()}/picture`;
    expect((await admin.get(membersPath())).html).not.toContain(path);
    for (const [person, status] of [
      [admin, 403],
      [moderator, 403],
      [stranger, 404],
    ] as const) {
      const { html } = await person.get('/admin/profile');
      const fields = hiddenFields(html, '/admin/sign-out');
      expect((await person.post(path, fields)).status).toBe(status);
    }
    expect(await server.sql('select from pictures where user_id = $1', [memberId])).toHaveLength(1);
  });
});

describe('a refused upload changes nothing', () => {
  test('the server explains why it refuses a text file, a damaged picture, an SVG, a GIF, a picture of 81 megapixels and an empty upload', async () => {
    const png = await draw().png().toBuffer();
    const unreadable = 'The file is not a JPEG, PNG or WebP picture, or it is damaged. Choose another file';
    const svg = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    );
    for (const [file, words] of [
      [Buffer.from('no picture'), unreadable],
      [png.subarray(0, png.length - 40), unreadable],
      [svg, unreadable],
      [await draw().gif().toBuffer(), unreadable],
      [await draw(9_000, 9_000).png().toBuffer(), unreadable],
      [Buffer.alloc(0), 'Choose a file'],
      [undefined, 'Choose a file'],
    ] as const) {
      const { status, html } = await upload(file);
      expect([status, problemIn(html)]).toEqual([422, expect.stringContaining(words)]);
    }
    expect(await server.sql('select from pictures where user_id = $1', [memberId])).toEqual([]);
  });

  test('a person whose erasure has begun cannot upload a picture', async () => {
    await server.sql('update users set deletion_requested_at = now(), erasure_began_at = now() where id = $1', [
      memberId,
    ]);
    const content = await draw(4, 4).webp().toBuffer();
    const setting = administer(server, admin => setPicture(admin, memberId, content));
    await expect(setting).rejects.toThrow('The user is being erased');
    expect(await server.sql('select from pictures where user_id = $1', [memberId])).toEqual([]);
  });

  test('a picture file larger than 5 MB is refused with 413', async () => {
    const { status, html } = await upload(Buffer.alloc(5 * 1024 * 1024 + 1));
    expect([status, problemIn(html)]).toEqual([413, 'The file is larger than 5 MB. Choose a smaller one.']);
  });

  test('a picture is not stored if its form has no valid form_token, comes from another site, or is sent without a session', async () => {
    const body = new FormData();
    body.append('picture', new Blob([await draw().png().toBuffer()]), 'me.png');
    expect((await member.sendForm(page, body)).status).toBe(403);
    expect((await member.sendForm(page, body, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
    expect((await new Visitor(server).sendForm(page, body)).status).toBe(303);
    expect(await server.sql('select from pictures where user_id = $1', [memberId])).toEqual([]);
  });

  test('a person can upload at most 20 pictures in an hour', async () => {
    const file = await draw(4, 4).png().toBuffer();
    for (let count = 1; count <= 20; count++) expect((await upload(file)).status).toBe(303);
    expect((await upload(file)).status).toBe(429);
  });
});
