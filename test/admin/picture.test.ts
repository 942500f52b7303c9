import { connect } from 'node:net';
import { parse } from 'node-html-parser';
import sharp from 'sharp';
import { beforeEach, describe, expect, test } from 'vitest';
import { convertPicture, setPicture } from '../../server/domain/pictures/pictures.ts';
import { BusyError } from '../../server/domain/queue.ts';
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
    const unreadable =
      'The file is not a JPEG, PNG or WebP picture, it is damaged, or it has too many pixels. Choose another file';
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
    const { status, html } = await upload(file);
    expect([status, html]).toEqual([429, expect.stringContaining('There were too many uploads. Try again in ')]);
    expect(await beginUpload().answer).toMatch(/^HTTP\/1.1 429 /);
    expect((await member.submit(page, page, { remove: 'yes' })).status).toBe(303);
  });

  test('while two uploads of a person are unfinished, the server refuses a third upload before it reads the file', async () => {
    const file = await draw(4, 4).png().toBuffer();
    const first = beginUpload();
    const second = beginUpload();
    await expect.poll(() => countUploads()).toBe(2);
    expect(await beginUpload().answer).toMatch(/^HTTP\/1.1 429 /);
    expect((await upload(file)).status).toBe(429);
    const other = await signedIn(server, await createMember(server, world.accountId, 'member'));
    expect((await upload(file, other)).status).toBe(303);
    first.end();
    await expect.poll(async () => (await upload(file)).status).toBe(303);
    second.end();
  });
});

/** Sends the beginning of an upload. The rest of the file does not arrive. */
function beginUpload() {
  const { hostname, port, host } = new URL(server.baseUrl);
  const socket = connect(Number(port), hostname);
  const answer = new Promise<string>((resolve, reject) => {
    socket.once('data', data => resolve(data.toString())).once('error', reject);
  });
  const cookie = [...member.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const head = [
    `POST ${page} HTTP/1.1`,
    `Host: ${host}`,
    `Origin: ${server.baseUrl}`,
    `Cookie: ${cookie}`,
    'Content-Type: multipart/form-data; boundary=b',
    'Content-Length: 100000',
  ];
  socket.write(
    `${head.join('\r\n')}\r\n\r\n--b\r\ncontent-disposition: form-data; name="picture"; filename="p"\r\n\r\n`,
  );
  return { answer, end: () => socket.destroy() };
}

async function countUploads(): Promise<number> {
  const [counter] = await server.sql<{ count: number }>('select count from rate_limits where key = $1', [
    `picture:user:${memberId}`,
  ]);
  return counter?.count ?? 0;
}

describe('a malformed upload', () => {
  test('an upload that the server cannot read gets an explanation and changes nothing, and the server reports no failure', async () => {
    const header = (name: string) => `--x\r\nContent-Disposition: form-data; name="${name}"; filename="a.png"\r\n\r\na`;
    const { html } = await member.get(page);
    const formToken = hiddenFields(html, page).form_token ?? '';
    const field = `--x\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n${formToken}\r\n`;
    for (const [type, body] of [
      ['multipart/form-data', `${field}${header('picture')}\r\n--x--\r\n`],
      ['multipart/form-data; boundary=x', `${field}${header('picture')}`],
      ['multipart/form-data; boundary=x', `${field}${header('picture')}\r\n${header('picture')}\r\n--x--\r\n`],
      ['multipart/form-data; boundary=x', `${field}${header('__proto__')}\r\n--x--\r\n`],
    ] as const) {
      const answer = await member.sendForm(page, body, { headers: { 'content-type': type } });
      expect([answer.status, answer.html.includes('it is damaged')]).toEqual([422, true]);
    }
    expect(pictureIn((await member.get(page)).html)).toBeUndefined();
    expect(server.logLines.filter(line => line.includes('a request failed'))).toEqual([]);
  });
});

describe('a picture that needs much work', () => {
  test('the server refuses a JPEG with more than 64 scans, because decoding a small file with thousands of scans takes a minute', async () => {
    expect((await upload(await jpegWithScans(64))).status).toBe(303);
    expect((await upload(await jpegWithScans(65))).status).toBe(422);
  });

  test('a picture of 20 megapixels can be a baseline JPEG or a PNG without interlacing, but not a progressive JPEG, an interlaced PNG or a WebP', async () => {
    const large = sharp({ create: { width: 5_000, height: 4_000, channels: 3, background: 'red' } });
    for (const [file, status] of [
      [large.clone().jpeg(), 303],
      [large.clone().png(), 303],
      [large.clone().jpeg({ progressive: true }), 422],
      [large.clone().png({ progressive: true }), 422],
      [large.clone().webp({ lossless: true, effort: 0 }), 422],
    ] as const) {
      expect((await upload(await file.toBuffer())).status).toBe(status);
    }
  });

  test('the server converts one picture at a time, keeps eight waiting, and answers 503 to further uploads', async () => {
    const file = await draw(4, 4).png().toBuffer();
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => convertPicture(file)));
    expect(results.map(({ status }) => status)).toEqual([...Array<string>(9).fill('fulfilled'), 'rejected']);
    expect(results.at(-1)).toMatchObject({ reason: expect.any(BusyError) });
    let isOver = false;
    const keepBusy = async () => {
      while (!isOver) await convertPicture(file);
    };
    const others = Array.from({ length: 9 }, keepBusy);
    const { status, headers } = await upload(file);
    expect([status, headers.get('retry-after')]).toEqual([503, '60']);
    isOver = true;
    await Promise.all(others);
    expect((await upload(file)).status).toBe(303);
  });
});

/** Makes a progressive JPEG of one colour. The first scan has the colour, and each other scan has one frequency. */
async function jpegWithScans(count: number): Promise<Buffer> {
  const grey = sharp({ create: { width: 64, height: 64, channels: 3, background: 'grey' } }).toColourspace('b-w');
  const jpeg = await grey.jpeg({ progressive: true }).toBuffer();
  const [, second = 0] = [...jpeg.toString('latin1').matchAll(/\xff\xda/g)].map(({ index }) => index);
  const end = jpeg.indexOf(Buffer.from([0xff, 0xc4]), second);
  const scans = Array.from({ length: count - 1 }, (_, index) => {
    const scan = Buffer.from(jpeg.subarray(second, end));
    const frequency = 1 + (index % 63);
    scan.set([frequency, frequency, 0], 7);
    return scan;
  });
  return Buffer.concat([jpeg.subarray(0, second), ...scans, Buffer.from([0xff, 0xd9])]);
}
