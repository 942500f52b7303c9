import { beforeEach, describe, expect, test } from 'vitest';
import { requestDeletion } from '../domain/erasure/populate.ts';
import { runCleanUp } from '../domain/erasure/run.ts';
import { sign } from '../fixtures/extensions/form-inbox/signature.ts';
import { testClock } from '../helpers/clock.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createUser, createWorld, issueToken } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { formInboxSecret, loadFormInbox, prepare } from './with-extensions.ts';

const now = '2026-03-14T09:00:00.000Z';
const clock = testClock(now);

const db = await createDatabaseForFile();
const world = await createWorld(db, { slug: 'web-app' });
await db.sql(`update accounts set slug = 'acme' where id = $1`, [world.accountId]);
await db.sql(`update users set email = 'Ada@example.com' where id = $1`, [world.ownerId]);
const inbox = await loadFormInbox();
await prepare(db, [inbox]);
const server = await startServerForFile({ on: db, clock, dependencies: { extensions: [inbox] } });
beforeEach(async () => {
  clock.set(now);
  await db.sql('delete from ideas; delete from form_inbox_submissions');
  await db.sql('update boards set is_frozen = false, pre_moderation = false');
});

interface Sending {
  signature?: string;
  secret?: string;
  signedAt?: string;
}

/** Sends a signed form submission, as an external form tool does. */
function send(body: string, { secret = formInboxSecret, signedAt = now, signature }: Sending = {}) {
  const header = signature ?? sign(Buffer.from(body), secret, new Date(signedAt));
  return request(server, 'POST /ext/form-inbox/submissions', {
    raw: body,
    headers: { 'content-type': 'application/json', 'x-form-signature': header },
  });
}

const submission = (id: string, title = 'Dark mode', respondent = 'grace@example.com') =>
  JSON.stringify({ id, respondent, answers: { title, details: 'For late evenings.' } });

const submissions = () => db.sql('select id, idea_id, respondent, status from form_inbox_submissions order by id');
const ideas = () => db.sql<{ id: number; title: string }>('select id, title, author_id from ideas order by id');

describe('a submission of the form tool', () => {
  test('a form submission to the example extension creates an idea whose author is the configured member, and records the event idea.created', async () => {
    expect(await send(submission('s-1'))).toMatchObject({ status: 201, body: { id: 's-1' } });
    const [idea] = await ideas();
    expect(idea).toMatchObject({ title: 'Dark mode', author_id: world.ownerId });
    expect(await submissions()).toEqual([
      { id: 's-1', idea_id: idea?.id, respondent: 'grace@example.com', status: 'open' },
    ]);
    expect(await db.sql('select type, actor_id, body #>> $1 as token from events', ['{data,actor,token_id}'])).toEqual([
      { type: 'idea.created', actor_id: world.ownerId, token: null },
    ]);
  });

  test('the same form submission creates only one idea, even if several parallel requests send it', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(submission('s-1'))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(await ideas()).toHaveLength(1);
    expect(await send(submission('s-1'))).toMatchObject({ status: 200, body: { id: 's-1' } });
    expect(await ideas()).toHaveLength(1);
  });

  test.each([
    ['a signature with another secret', { secret: 'another secret, just as long as it' }],
    ['an old timestamp', { signedAt: '2026-03-14T08:54:59.000Z' }],
    ['a future timestamp', { signedAt: '2026-03-14T09:05:01.000Z' }],
    ['an invalid signature', { signature: 't=1,v1=nonsense' }],
    ['an empty signature', { signature: '' }],
  ] satisfies [string, Sending][])(
    'a form submission with %s is rejected and stores nothing, and the rejection is in the audit log',
    async (_, sending) => {
      server.auditLines.length = 0;
      expect(await send(submission('s-1'), sending)).toMatchObject({ status: 401, key: 'unauthorized' });
      expect(await ideas()).toEqual([]);
      expect(await submissions()).toEqual([]);
      expect(server.auditLines.map(line => JSON.parse(line))).toMatchObject([
        { event: 'extension.recorded', extension: 'form-inbox', what: 'submission_refused' },
      ]);
    },
  );

  test('a form submission is rejected if its body has one byte more than the body that was signed', async () => {
    const signature = sign(Buffer.from(submission('s-1')), formInboxSecret, new Date(now));
    expect((await send(`${submission('s-1')} `, { signature })).status).toBe(401);
    expect((await send(submission('s-1'), { signature })).status).toBe(201);
  });

  test('a form submission is rejected while the board is frozen, and accepted if it is sent again after the freeze', async () => {
    await db.sql('update boards set is_frozen = true');
    expect(await send(submission('s-1'))).toMatchObject({ status: 423, key: 'board_frozen' });
    expect(await submissions()).toEqual([]);
    await db.sql('update boards set is_frozen = false');
    expect((await send(submission('s-1'))).status).toBe(201);
  });

  test('an invalid form submission gets the error malformed_json, or validation_failed with the path of the invalid field', async () => {
    expect(await send('{')).toMatchObject({ status: 400, key: 'malformed_json' });
    const untitled = await send(submission('s-1', ''));
    expect(untitled).toMatchObject({ status: 422, key: 'validation_failed' });
    expect(untitled.body.error.issues).toMatchObject([{ path: ['body', 'title'] }]);
    expect((await send('{"id": "s-1"}')).body.error.issues).toMatchObject([{ path: ['body', 'answers'] }]);
    expect(await submissions()).toEqual([]);
  });
});

test('when the status of an idea from a form submission changes, the example extension stores the new status in the submission', async () => {
  await send(submission('s-1'));
  const [idea] = await ideas();
  const { token } = await issueToken(db, world, 'moderate');
  await request(server, `POST /api/v1/ideas/${idea?.id}/status`, { token, json: { status: 'planned' } });
  expect(await submissions()).toMatchObject([{ status: 'open' }]);
  expect(await runJobs(server)).toEqual([]);
  expect(await submissions()).toMatchObject([{ status: 'planned' }]);
});

test('form submissions are deleted after 90 days by default, and their ideas stay', async () => {
  await send(submission('s-1'));
  clock.set('2026-06-12T09:00:00.001Z');
  await send(submission('s-2'), { signedAt: '2026-06-12T09:00:00.001Z' });
  await db.sql(`select graphile_worker.add_job('ext:form-inbox:clear_old')`);
  expect(await runJobs(server)).toEqual([]);
  expect(await submissions()).toMatchObject([{ id: 's-2' }]);
  expect(await ideas()).toHaveLength(2);
});

test('the erasure of a user removes the e-mail address of the user from the form submissions that the example extension stores', async () => {
  const userId = await createUser(db);
  await db.sql(`update users set email = 'Alan@example.com' where id = $1`, [userId]);
  await send(submission('s-1', 'By Alan', 'ALAN@example.com'));
  await send(submission('s-2', 'By Grace'));
  await requestDeletion(db, userId);
  expect(await runCleanUp(db, { erasers: [inbox] })).toMatchObject({ users: [{ id: userId }], failed: [] });
  expect(await submissions()).toMatchObject([
    { id: 's-1', respondent: null },
    { id: 's-2', respondent: 'grace@example.com' },
  ]);
});
