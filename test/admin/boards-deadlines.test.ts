import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { openZone, timeZones } from '../../server/admin/boards/time-zones.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { hiddenFields, type Seen, signedIn, type Visitor } from './visitor.ts';

const clock = testClock('2026-03-01T12:00:00Z');
let world: World;
let visitor: Visitor;
let path: string;

const server = await startServerForFile({ clock });
beforeEach(async () => {
  world = await createWorld(server);
  visitor = await signedIn(server, world.ownerId);
  path = `/admin/boards/${world.boardSlug}/deadlines`;
  server.auditLines.length = 0;
});

const save = (fields: Record<string, string>): Promise<Seen> => {
  clock.advance(1);
  return visitor.submit(path, path, { zone: 'UTC', ...fields });
};
const stored = async () =>
  (
    await server.sql<Record<string, string | null>>(
      'select submissions_open_at, submissions_close_at, voting_open_at, voting_close_at from boards where id = $1',
      [world.boardId],
    )
  )[0];
const nothing = {
  submissions_open_at: null,
  submissions_close_at: null,
  voting_open_at: null,
  voting_close_at: null,
};
const fieldIn = ({ html }: Seen, field: string) => new RegExp(`name="${field}"[^>]* value="([^"]*)"`).exec(html)?.[1];
const chosenZone = ({ html }: Seen) => /<option value="([^"]+)" selected>/.exec(html)?.[1];

describe('the deadlines of a board', () => {
  test('the API obeys new deadlines of a board from the next request on, and clients can still read ideas after a deadline', async () => {
    const { token } = await issueToken(server, world, 'moderate');
    const ideaId = await insertIdea(server, world);
    const submit = async () =>
      request(server, 'POST /api/v1/ideas', { token, json: { title: 'An idea', body: 'What it is about.' } });
    const vote = async () => request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value: 'up' } });
    const [before, after] = ['2026-03-01T11:59', '2026-03-01T12:01'];
    const cases = [
      [{ submissions_open_at: after }, 'submissions_not_open_yet', undefined],
      [{ submissions_close_at: before }, 'submissions_closed', undefined],
      [{ voting_open_at: after }, undefined, 'voting_not_open_yet'],
      [{ voting_close_at: before }, undefined, 'voting_closed'],
      [{ submissions_open_at: before, voting_close_at: after }, undefined, undefined],
    ] as const;
    for (const [fields, submitting, voting] of cases) {
      expect((await save(fields)).status).toBe(303);
      const [submitted, voted] = [await submit(), await vote()];
      expect([submitted.key, submitted.status]).toEqual([submitting, submitting ? 423 : 201]);
      expect([voted.key, voted.status]).toEqual([voting, voting ? 423 : 200]);
      expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(200);
    }
    expect((await save({})).location).toBe(`${path}?notice=saved`);
    expect(await stored()).toEqual(nothing);
    expect([(await submit()).status, (await vote()).status]).toEqual([201, 200]);
    expect(readAudit(server.auditLines)[0]).toMatchObject({
      event: 'board.updated',
      by: 'user',
      by_user_id: world.ownerId,
      board_id: world.boardId,
      changed: ['submissions_open_at'],
    });
  });

  test('the deadlines page shows each deadline in the chosen time zone and in UTC, and a cookie keeps the chosen time zone for later visits', async () => {
    await save({ zone: 'Europe/Berlin', submissions_open_at: '2026-03-28T09:00', voting_close_at: '2026-07-01T09:00' });
    expect(await stored()).toMatchObject({
      submissions_open_at: '2026-03-28 08:00:00+00',
      voting_close_at: '2026-07-01 07:00:00+00',
    });
    const page = await visitor.get(path);
    expect(chosenZone(page)).toBe('Europe/Berlin');
    expect(fieldIn(page, 'voting_close_at')).toBe('2026-07-01T09:00');
    for (const text of ['28 Mar 2026, 09:00 UTC+1', '1 Jul 2026, 09:00 UTC+2', '1 Jul 2026, 07:00 UTC<']) {
      expect(page.html).toContain(text);
    }
    expect(page.html.length).toBeLessThan(35_000);
    const elsewhere = await visitor.get(`${path}?zone=Asia%2FKolkata`);
    expect(fieldIn(elsewhere, 'voting_close_at')).toBe('2026-07-01T12:30');
    for (const zone of ['Nowhere', '"><img src=x>']) {
      expect(chosenZone(await visitor.get(`${path}?zone=${encodeURIComponent(zone)}`))).toBe('Europe/Berlin');
    }
  });

  test.each([
    [
      'a local time that the clocks skip',
      { zone: 'Europe/Berlin', voting_open_at: '2026-03-29T02:30' },
      'clocks in Europe/Berlin skip 2026-03-29 02:30',
    ],
    ['a day that does not exist', { voting_open_at: '2026-02-30T09:00' }, 'Voting opens: enter a day and a time'],
    ['an invalid time', { submissions_close_at: 'soon' }, 'Submissions close: enter a day and a time'],
    ['the year 1066', { voting_open_at: '1066-10-14T09:00' }, 'enter a day and a time'],
    [
      'a voting window that opens and closes at the same time',
      { voting_open_at: '2026-05-02T09:00', voting_close_at: '2026-05-02T09:00' },
      'The voting window must open before it closes',
    ],
  ])(
    "a board's deadlines with %s are refused, and the form still shows the entered values",
    async (_what, given: Record<string, string>, why) => {
      const answer = await save({ submissions_open_at: '2026-04-01T08:00', ...given });
      expect([answer.status, answer.html.includes(why)]).toEqual([422, true]);
      for (const [field, text] of Object.entries({ submissions_open_at: '2026-04-01T08:00', ...given })) {
        if (field !== 'zone') expect(fieldIn(answer, field)).toBe(text);
      }
      expect(chosenZone(answer)).toBe(given.zone ?? 'UTC');
      expect(await stored()).toEqual(nothing);
      expect(server.auditLines).toEqual([]);
    },
  );

  test('if a local time occurs twice because clocks go back, a new deadline gets the first occurrence, and an unchanged deadline may keep the second', async () => {
    const zone = 'Europe/Berlin';
    const answer = await save({ zone, voting_close_at: '2026-10-25T02:30' });
    expect((await visitor.get(answer.location ?? '')).html).toContain('The first one applies');
    expect(await stored()).toMatchObject({ voting_close_at: '2026-10-25 00:30:00+00' });
    const second = '2026-10-25 01:30:00.123+00';
    await server.sql('update boards set voting_close_at = $2 where id = $1', [world.boardId, second]);
    const shown = fieldIn(await visitor.get(path), 'voting_close_at') ?? '';
    expect(shown).toBe('2026-10-25T02:30:00.123');
    await save({ zone, voting_close_at: shown, submissions_open_at: '2026-05-01T00:00' });
    expect(await stored()).toMatchObject({ voting_close_at: second, submissions_open_at: '2026-04-30 22:00:00+00' });
  });

  test('if the form for deadlines is sent with another time zone, the server saves nothing and shows the same deadlines in the new zone', async () => {
    await save({ voting_close_at: '2026-07-01T09:00' });
    const before = await stored();
    const other = { zone: 'America/New_York', voting_close_at: '2026-07-01T09:00', voting_open_at: '2026-06-01T10:00' };
    const looked = await save({ ...other, look: 'yes' });
    // Deletes the cookie with the chosen time zone. The form then comes from a page that the person opened before they
    // chose the zone.
    visitor.cookies.delete('idea_board_zone');
    const refused = await save(other);
    for (const [answer, status] of [
      [looked, 200],
      [refused, 422],
    ] as const) {
      expect([answer.status, chosenZone(answer)]).toEqual([status, 'America/New_York']);
      expect(fieldIn(answer, 'voting_close_at')).toBe('2026-07-01T05:00');
      expect(fieldIn(answer, 'voting_open_at')).toBe('2026-06-01T10:00');
    }
    expect(refused.html).toContain('Check them and save again');
    expect(await stored()).toEqual(before);
    const again = { ...other, voting_close_at: '2026-07-01T05:00' };
    expect((await save(again)).status).toBe(303);
    expect(await stored()).toMatchObject({ ...before, voting_open_at: '2026-06-01 14:00:00+00' });
  });

  test('new deadlines are not saved if the board was changed after the form was opened, and the deadlines page shows that change', async () => {
    const { html } = await visitor.get(path);
    const hidden = Object.fromEntries(
      [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name, value]) => [
        name,
        value,
      ]),
    ) as Record<string, string>;
    await save({ voting_close_at: '2026-07-01T09:00' });
    const mine = { ...hidden, zone: 'UTC', voting_close_at: '2026-08-01T09:00' };
    const answer = await visitor.post(path, mine);
    expect([answer.status, fieldIn(answer, 'voting_close_at')]).toEqual([409, '2026-08-01T09:00']);
    expect(answer.html).toContain('The board was changed since the page was opened');
    expect(answer.html).toContain('1 Jul 2026, 09:00 UTC');
    expect(await stored()).toMatchObject({ voting_close_at: '2026-07-01 09:00:00+00' });
    const seenAt = fieldIn(answer, 'seen_at') ?? '';
    expect((await visitor.post(path, { ...mine, seen_at: seenAt })).status).toBe(303);
    expect(await stored()).toMatchObject({ voting_close_at: '2026-08-01 09:00:00+00' });
  });

  test('the deadlines page with its times and error messages is in German for a browser that prefers German', async () => {
    const german = { headers: { 'accept-language': 'de' } };
    await save({ zone: 'Europe/Berlin', voting_close_at: '2026-03-14T09:00' });
    const { html } = await visitor.get(`${path}?zone=Europe/Berlin`, german);
    const time = '<time datetime="2026-03-14T08:00:00.000Z">14. März 2026, 09:00 UTC+1</time>';
    expect(html).toContain(`<p>Festgelegt auf den ${time}</p>`);
    const fields = { ...hiddenFields(html, path), zone: 'Europe/Berlin' };
    const refusals = [
      ['2026-03-29T02:30', 'Beginn der Abstimmung: Die Uhren in Europe/Berlin überspringen 2026-03-29 02:30.'],
      ['tomorrow', 'Beginn der Abstimmung: Geben Sie einen Tag und eine Uhrzeit ein'],
    ];
    for (const [text = '', message] of refusals) {
      const refused = await visitor.post(path, { ...fields, voting_open_at: text }, german);
      expect(refused.status).toBe(422);
      expect(refused.html).toContain(message);
    }
  });

  test('deadlines in an unknown time zone are refused', async () => {
    const answer = await save({ zone: 'Mars/Olympus_Mons', voting_close_at: '2026-07-01T09:00' });
    expect([answer.status, answer.html.includes('Choose a time zone')]).toEqual([422, true]);
    expect(await stored()).toEqual(nothing);
  });
});

describe('a time zone', () => {
  const isoTimes = (zone: string, text: string) =>
    openZone(zone)
      .timesOf(text)
      ?.map(time => time.toISOString());

  test.each([
    ['Europe/Berlin', '2026-03-29T01:59', ['2026-03-29T00:59:00.000Z']],
    ['Europe/Berlin', '2026-03-29T02:00', []],
    ['Europe/Berlin', '2026-03-29T03:00', ['2026-03-29T01:00:00.000Z']],
    ['Europe/Berlin', '2026-10-25T02:00', ['2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z']],
    ['America/New_York', '2026-11-01T01:30', ['2026-11-01T05:30:00.000Z', '2026-11-01T06:30:00.000Z']],
    // In the next three cases, the local time of the zone goes back by half an hour, skips midnight, or skips a whole
    // day.
    ['Australia/Lord_Howe', '2026-04-05T01:45', ['2026-04-04T14:45:00.000Z', '2026-04-04T15:15:00.000Z']],
    ['America/Sao_Paulo', '2018-11-04T00:00', []],
    ['Pacific/Apia', '2011-12-30T12:00', []],
    ['Asia/Kathmandu', '2026-01-01T00:00:30', ['2025-12-31T18:15:30.000Z']],
    ['UTC', '2026-02-29T00:00', undefined],
  ])('for the time zone %s, the local time %s occurs at exactly these times in UTC: %j', (zone, text, times) => {
    expect(isoTimes(zone, text)).toEqual(times);
  });

  test("if a random point in time is converted to a random zone's local time and back, the possible results include the original point in time", () => {
    const time = fc.date({ min: new Date('1971-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(fc.constantFrom(...timeZones), time, (name, at) => {
        const zone = openZone(name);
        const text = zone.localTextOf(at);
        const times = zone.timesOf(text) ?? [];
        expect(times).toContainEqual(at);
        expect(times.map(zone.localTextOf)).toEqual(times.map(() => text));
      }),
      { numRuns: 200 },
    );
  });

  test('the server and PostgreSQL convert 400 points in time to the same local times in each of six time zones', async () => {
    const zones = ['Europe/London', 'America/St_Johns', 'Asia/Tehran', 'Pacific/Chatham', 'Africa/Casablanca', 'UTC'];
    const hours = Array.from({ length: 400 }, (_, index) => new Date(Date.UTC(2001, 0, 1) + index * 500 * 3_600_000));
    const rows = await server.sql<{ zone: string; at: string; local: string }>(
      `select zone, at, to_char(at at time zone zone, 'YYYY-MM-DD"T"HH24:MI') as local
      from unnest($1::text[]) zone, unnest($2::timestamptz[]) at`,
      [zones, hours],
    );
    const clocks = new Map(zones.map(zone => [zone, openZone(zone)]));
    expect(rows).toHaveLength(2400);
    expect(rows.map(({ zone, at }) => clocks.get(zone)?.localTextOf(new Date(at)))).toEqual(rows.map(row => row.local));
  });
});
