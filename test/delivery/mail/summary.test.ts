import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { deleteIdea } from '../../../server/domain/ideas/change-idea.ts';
import { followIdea, unfollowIdea } from '../../../server/domain/notifications/followers.ts';
import { addSummaries } from '../../../server/domain/notifications/summaries.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { updateUser } from '../../../server/domain/users/edit-user.ts';
import { lockUser } from '../../../server/domain/users/find-user.ts';
import { disableEndpoint } from '../../../server/domain/webhooks/disable-endpoint.ts';
import type { MailFrequency } from '../../../server/entities/user.ts';
import { connect } from '../../helpers/database.ts';
import { createMember, createWorld, insertIdea, type World } from '../../helpers/fixtures.ts';
import { closeAfterAll } from '../../helpers/for-file.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../../helpers/jobs.ts';
import { waitForLockWaits } from '../../helpers/lock-waits.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { startSmtpReceiver } from '../../helpers/smtp-receiver.ts';
import { addWebhook, administer, eventually, fastForward } from '../../helpers/webhooks.ts';
import { startWorkerForTest } from '../../helpers/worker.ts';

let world: World;
let ideaId: number;

const smtp = closeAfterAll(await startSmtpReceiver());
const server = await startServerForFile({ environment: { SMTP_URL: smtp.url, BASE_URL: 'https://ideas.example.com' } });

beforeEach(async () => {
  world = await createWorld(server);
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
});

afterEach(async () => {
  smtp.received.length = 0;
  smtp.accept();
  await server.sql('delete from graphile_worker._private_jobs');
  await server.sql(`update users set mail_frequency = 'immediately'`);
});

/** Creates a member who follows the idea and gets mail at <name>@example.com. */
async function createFollower(name: string, frequency: MailFrequency, at = { world, ideaId }) {
  const userId = await createMember(server, at.world.accountId, 'member', name);
  await server.sql('update users set notification_email = $2, mail_frequency = $3 where id = $1', [
    userId,
    `${name}@example.com`,
    frequency,
  ]);
  await administer(server, admin => followIdea(admin, at.world.accountId, { ideaId: at.ideaId, userId }));
  return userId;
}

const act = <T>(work: Parameters<typeof runAsUser<T>>[3], at = world) => runAsUser(server, at, at.ownerId, work);
const setStatus = (status: string, id = ideaId) => act(op => setIdeaStatus(op, id, status));
const comment = (body: string) => act(op => commentOnIdea(op, ideaId, body));
const subjects = () => smtp.received.map(({ to, mail }) => [to, mail?.subject]);
const unmailed = (userId: number) =>
  server.sql('select kind from notifications where user_id = $1 and mailed_at is null', [userId]);

const choose = (userId: number, mailFrequency: MailFrequency) =>
  administer(server, async admin => updateUser(admin, await lockUser(admin, userId), { mailFrequency }));

/** Runs the scheduled job of the summaries, and the jobs that it adds. */
async function mailSummaries(frequency: 'daily' | 'weekly') {
  await addSummaries(server.database, frequency);
  expect(await runJobs(server)).toEqual([]);
}

describe('the time of the mail', () => {
  test.each(['daily', 'weekly'] as const)(
    'a person who chose a %s summary gets no mail immediately, but one summary of all notifications, and no notification twice',
    async frequency => {
      const userId = await createFollower('grace', frequency);
      await createFollower('ada', 'immediately');
      await setStatus('planned');
      await comment('We begin\nin spring.');
      await runJobs(server);
      expect(subjects()).toEqual([
        ['ada@example.com', '“Dark mode” is now planned'],
        ['ada@example.com', 'The owner commented on “Dark mode”'],
      ]);
      smtp.received.length = 0;
      await mailSummaries(frequency === 'daily' ? 'weekly' : 'daily');
      expect(smtp.received).toEqual([]);
      await mailSummaries(frequency);
      expect(subjects()).toEqual([['grace@example.com', '2 new notifications from An account']]);
      expect(await unmailed(userId)).toEqual([]);
      await mailSummaries(frequency);
      expect(smtp.received).toHaveLength(1);
      await setStatus('done');
      await runJobs(server);
      smtp.received.length = 0;
      await mailSummaries(frequency);
      expect(subjects()).toEqual([['grace@example.com', '1 new notification from An account']]);
    },
  );

  test('the mail about a disabled webhook arrives immediately, also for a person who chose a weekly summary', async () => {
    await server.sql(
      `update users set notification_email = 'owner@example.com', mail_frequency = 'weekly' where id = $1`,
      [world.ownerId],
    );
    const { id: endpointId } = await addWebhook(server, world, { url: 'https://hooks.example.com/ideas' });
    await server.database.transaction(transaction =>
      disableEndpoint(transaction, { accountId: world.accountId, endpointId }, 'Gone'),
    );
    await runJobs(server);
    expect(smtp.received.map(({ to }) => to)).toEqual(['owner@example.com']);
    await mailSummaries('weekly');
    expect(smtp.received).toHaveLength(1);
  });

  test.each(['daily', 'weekly'] as const)(
    'a person who changes from %s summaries to immediate mails gets one last summary, and then each notification immediately',
    async frequency => {
      const userId = await createFollower('grace', frequency);
      await createFollower('ada', frequency);
      await setStatus('planned');
      await comment('We begin in spring.');
      await runJobs(server);
      expect(smtp.received).toEqual([]);
      await choose(userId, 'immediately');
      await choose(userId, 'immediately');
      await runJobs(server);
      expect(subjects()).toEqual([['grace@example.com', '2 new notifications from An account']]);
      expect(smtp.received[0]?.mail?.text).toContain('This is your last summary, because');
      expect(await unmailed(userId)).toEqual([]);
      await setStatus('done');
      await runJobs(server);
      expect(subjects().slice(1)).toEqual([['grace@example.com', '“Dark mode” is now done']]);
    },
  );

  test('several runs of the scheduled job at the same time cause one summary, and a mail server that fails gets it again later', async () => {
    const userId = await createFollower('grace', 'daily');
    await setStatus('planned');
    await runJobs(server);
    smtp.refuse('grace@example.com', 451);
    await Promise.all([1, 2, 3, 4].map(() => addSummaries(server.database, 'daily')));
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_summary' }]);
    expect(await unmailed(userId)).toHaveLength(1);
    smtp.accept();
    await makeJobsDue(server);
    await runJobs(server);
    expect(subjects()).toEqual([['grace@example.com', '1 new notification from An account']]);
    expect(await unmailed(userId)).toEqual([]);
  });
});

describe('the content of a summary', () => {
  test('a summary has the notifications in the order of their times, each with its quotation and its link, and explains how to change the mails', async () => {
    await createFollower('grace', 'daily');
    await setStatus('planned');
    const { id } = await comment('We begin <b>in spring</b>.\n-- x\nSee https://a.example/b');
    await runJobs(server);
    await mailSummaries('daily');
    const { mail, raw } = smtp.received[0] ?? {};
    const url = `https://ideas.example.com/b/${world.boardSlug}/ideas/${ideaId}`;
    const commentUrl = `${url}?comment=${id}#comment-${id}`;
    const [slug] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    expect(mail?.text?.replace(/token=\S+/, 'token=TOKEN')).toBe(`* The owner moved “Dark mode” to planned.
Read the idea: ${url}

* The owner commented on “Dark mode”:
> We begin <b>in spring</b>.
> -- x
> See https://a.example/b
Read the idea: ${commentUrl}

See all notifications:
https://ideas.example.com/admin/profile/notifications?account=${slug?.slug}

-- 
You get this summary once a day, because you chose this in your profile.
Change how often you get mail: https://ideas.example.com/admin/profile?account=${slug?.slug}
Get no more mail: https://ideas.example.com/unsubscribe?token=TOKEN
`);
    expect(mail?.html).toContain('We begin &lt;b&gt;in spring&lt;/b&gt;.');
    expect(mail?.html).not.toContain('<b>');
    for (const href of [url, commentUrl]) expect(mail?.html).toContain(`href="${href}"`);
    expect(raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/im);
  });

  test('a summary of more than 30 notifications shows the newest 30, says that there are more, and leaves none for the next summary', async () => {
    const userId = await createFollower('grace', 'daily');
    for (let n = 1; n <= 33; n++) await setStatus(n % 2 ? 'planned' : 'open');
    await runJobs(server);
    await mailSummaries('daily');
    const { mail } = smtp.received[0] ?? {};
    expect(mail?.subject).toBe('More than 30 new notifications from An account');
    expect(mail?.text?.match(/^\* /gm)).toHaveLength(30);
    expect(mail?.text).toMatch(/^\* The owner moved “Dark mode” to open\./);
    expect(mail?.text).toContain('There are more. See all notifications:');
    expect(await unmailed(userId)).toEqual([]);
  });

  test('a summary has only notifications that are unread and that the person still wants, and without any there is no mail', async () => {
    const userId = await createFollower('grace', 'daily');
    const otherId = await insertIdea(server, world, { title: 'Exports' });
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId: otherId, userId }));
    await setStatus('planned');
    await setStatus('planned', otherId);
    await comment('Read already.');
    await runJobs(server);
    await administer(server, admin => unfollowIdea(admin, { ideaId: otherId, userId }));
    await server.sql(`update notifications set read_at = now() where user_id = $1 and kind = 'comment.created'`, [
      userId,
    ]);
    await mailSummaries('daily');
    expect(smtp.received.map(({ mail }) => mail?.text?.match(/^\* .*/gm))).toEqual([
      ['* The owner moved “Dark mode” to planned.'],
    ]);
    await setStatus('done');
    await runJobs(server);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    await mailSummaries('daily');
    expect(smtp.received).toHaveLength(1);
  });

  test('a summary has no notification about a deleted idea, except the notification of its deletion', async () => {
    const followerId = await createFollower('grace', 'daily');
    const authorId = await createFollower('ada', 'daily');
    await server.sql('update ideas set author_id = $2 where id = $1', [ideaId, authorId]);
    const otherId = await insertIdea(server, world, { title: 'Exports' });
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId: otherId, userId: followerId }));
    await setStatus('planned');
    await setStatus('planned', otherId);
    await comment('An insult for @grace.');
    await runJobs(server);
    await act(op => deleteIdea(op, ideaId, 'Insults'));
    await runJobs(server);
    await mailSummaries('daily');
    const mailed = smtp.received.map(({ to, mail }) => [to, mail?.text?.match(/^[*>] .*/gm)]);
    expect(mailed.sort()).toEqual([
      ['ada@example.com', [expect.stringMatching(/^\* The owner deleted your idea “Dark mode”/), '> Insults']],
      ['grace@example.com', ['* The owner moved “Exports” to planned.']],
    ]);
    expect(JSON.stringify(smtp.received)).not.toContain('An insult');
    expect(await unmailed(followerId)).toHaveLength(2);
  });

  test('a mail that waits for a retry is not sent after its idea was deleted', async () => {
    const userId = await createFollower('grace', 'immediately');
    smtp.refuse('grace@example.com', 451);
    await comment('An insult.');
    expect(await runJobs(server)).toMatchObject([{ task: 'mail_people' }]);
    await act(op => deleteIdea(op, ideaId));
    smtp.accept();
    await makeJobsDue(server);
    expect(await runJobs(server)).toEqual([]);
    expect(smtp.received).toEqual([]);
    expect(await unmailed(userId)).toEqual([{ kind: 'comment.created' }]);
  });

  test('a person in two accounts gets one summary for each account, with the notifications of this account only', async () => {
    const userId = await createFollower('grace', 'weekly');
    const other = await createWorld(server);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      other.accountId,
      userId,
    ]);
    const otherId = await insertIdea(server, other, { title: 'Elsewhere' });
    await administer(server, admin => followIdea(admin, other.accountId, { ideaId: otherId, userId }));
    await setStatus('planned');
    await act(op => setIdeaStatus(op, otherId, 'done'), other);
    await runJobs(server);
    await mailSummaries('weekly');
    expect(smtp.received.map(({ mail }) => mail?.text?.match(/^\* .*/gm)?.join()).sort()).toEqual([
      '* The owner moved “Dark mode” to planned.',
      '* The owner moved “Elsewhere” to done.',
    ]);
  });

  test('a summary leaves out notifications that are older than ten days, and has the other ones even after a change from weekly to daily summaries', async () => {
    const userId = await createFollower('grace', 'weekly');
    await setStatus('planned');
    await comment('We begin in spring.');
    await runJobs(server);
    await server.sql(
      `update notifications set created_at = now() - make_interval(hours => case kind when 'comment.created' then 239 else 241 end)
      where user_id = $1`,
      [userId],
    );
    await choose(userId, 'daily');
    await mailSummaries('daily');
    expect(smtp.received.map(({ mail }) => mail?.text?.match(/^\* .*/gm))).toEqual([
      ['* The owner commented on “Dark mode”:'],
    ]);
  });
});

describe('a change of the frequency while notifications are added', () => {
  test('a person who changes to immediate mails while a job is adding a notification gets the notification in the last summary', async () => {
    const userId = await createFollower('grace', 'daily');
    await setStatus('planned');
    const outside = await connect(server.url);
    await outside.query('begin; lock table notifications in share mode');
    const telling = runJobs(server);
    await waitForLockWaits(server, 1);
    const choosing = choose(userId, 'immediately');
    await Promise.race([choosing, waitForLockWaits(server, 2)]);
    await outside.query('commit');
    await outside.end();
    await choosing;
    expect([await telling, await runJobs(server)]).toEqual([[], []]);
    expect(subjects()).toEqual([['grace@example.com', '1 new notification from An account']]);
    expect(await unmailed(userId)).toEqual([]);
    expect(await waitingJobs(server)).toEqual([]);
  });

  test('a person whose change to immediate mails is not yet committed when a job adds a notification gets the notification immediately', async () => {
    const userId = await createFollower('grace', 'daily');
    await setStatus('planned');
    const changed = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const choosing = administer(server, async admin => {
      await updateUser(admin, await lockUser(admin, userId), { mailFrequency: 'immediately' });
      await admin.em.flush();
      changed.resolve();
      await mayCommit.promise;
    });
    await changed.promise;
    const telling = runJobs(server);
    await Promise.race([telling, waitForLockWaits(server, 1)]);
    mayCommit.resolve();
    await choosing;
    expect(await telling).toEqual([]);
    expect(subjects()).toEqual([['grace@example.com', '“Dark mode” is now planned']]);
    expect(await unmailed(userId)).toEqual([]);
    expect(await waitingJobs(server)).toEqual([]);
  });
});

describe('a change of the frequency while the mail server is slow', () => {
  const environment = { SMTP_URL: smtp.url, BASE_URL: 'https://ideas.example.com' };
  const mailJobs = async () => (await waitingJobs(server)).filter(({ task }) => task.startsWith('mail_'));

  /** Waits until the mail server has received `count` mails. */
  const waitForMails = (count: number) => eventually(() => expect(smtp.received).toHaveLength(count));

  /** Waits until a mail job waits for its retry, or until the mail server has received more than `count` mails. */
  const waitForRetry = (count: number) =>
    eventually(async () => {
      const retries = await server.sql(
        'select from graphile_worker._private_jobs where last_error is not null and locked_at is null',
      );
      expect(retries.length > 0 || smtp.received.length > count).toBe(true);
    });

  /** Waits until the worker has run all mail jobs, including the retries. */
  const waitForEnd = () =>
    eventually(async () => {
      await fastForward(server);
      expect(await mailJobs()).toEqual([]);
    });

  test.each([
    { workers: 1, concurrency: '2' },
    { workers: 2, concurrency: '1' },
  ])(
    'a person who changes to immediate mails while their summary is being sent gets the summary once ($workers workers)',
    async ({ workers, concurrency }) => {
      const userId = await createFollower('grace', 'daily');
      await setStatus('planned');
      await comment('We begin in spring.');
      await runJobs(server);
      const answer = smtp.hold('grace@example.com');
      for (let n = 0; n < workers; n++) {
        await startWorkerForTest(server, { environment: { ...environment, WORKER_CONCURRENCY: concurrency } });
      }
      await addSummaries(server.database, 'daily');
      await waitForMails(1);
      await choose(userId, 'immediately');
      await waitForRetry(1);
      answer();
      await waitForEnd();
      expect(subjects()).toEqual([['grace@example.com', '2 new notifications from An account']]);
      expect(await unmailed(userId)).toEqual([]);
    },
  );

  test('a person who changes to summaries while a job is mailing other people gets the notification once, in the summary', async () => {
    const names = ['ada', 'bob', 'carl', 'dora'];
    const ids: number[] = [];
    for (const name of names) ids.push(await createFollower(name, 'immediately'));
    const dora = ids.at(-1) ?? 0;
    const answer = smtp.hold('ada@example.com');
    await startWorkerForTest(server, { environment });
    await setStatus('planned');
    await waitForMails(1);
    await choose(dora, 'daily');
    await addSummaries(server.database, 'daily');
    await waitForMails(2);
    answer();
    await waitForEnd();
    expect(subjects()).toEqual([
      ['ada@example.com', '“Dark mode” is now planned'],
      ['dora@example.com', '1 new notification from An account'],
      ['bob@example.com', '“Dark mode” is now planned'],
      ['carl@example.com', '“Dark mode” is now planned'],
    ]);
    for (const id of ids) expect(await unmailed(id)).toEqual([]);
  });

  test('a person who changes to summaries before the mail of a notification is sent gets the notification only in the next summary', async () => {
    await createFollower('ada', 'immediately');
    const userId = await createFollower('grace', 'immediately');
    const answer = smtp.hold('ada@example.com');
    await startWorkerForTest(server, { environment });
    await setStatus('planned');
    await waitForMails(1);
    await choose(userId, 'daily');
    answer();
    await waitForEnd();
    expect(smtp.received.map(({ to }) => to)).toEqual(['ada@example.com']);
    expect(await unmailed(userId)).toEqual([{ kind: 'idea.status_changed' }]);
    await addSummaries(server.database, 'daily');
    await waitForEnd();
    expect(subjects().slice(1)).toEqual([['grace@example.com', '1 new notification from An account']]);
    expect(await unmailed(userId)).toEqual([]);
  });

  test('a person who changes to summaries while the mail of a notification is being sent gets the notification once', async () => {
    const userId = await createFollower('grace', 'immediately');
    const answer = smtp.hold('grace@example.com');
    await startWorkerForTest(server, { environment });
    await setStatus('planned');
    await waitForMails(1);
    await choose(userId, 'daily');
    await addSummaries(server.database, 'daily');
    await waitForRetry(1);
    answer();
    await waitForEnd();
    expect(subjects()).toEqual([['grace@example.com', '“Dark mode” is now planned']]);
    expect(await unmailed(userId)).toEqual([]);
  });

  test('a person who changes to summaries and back while a job is mailing other people gets the notification once, in the last summary', async () => {
    await createFollower('ada', 'immediately');
    const userId = await createFollower('grace', 'immediately');
    const [answerAda, answerGrace] = [smtp.hold('ada@example.com'), smtp.hold('grace@example.com')];
    await startWorkerForTest(server, { environment });
    await setStatus('planned');
    await waitForMails(1);
    await choose(userId, 'daily');
    await choose(userId, 'immediately');
    await waitForMails(2);
    answerAda();
    await waitForRetry(2);
    answerGrace();
    await waitForEnd();
    expect(subjects()).toEqual([
      ['ada@example.com', '“Dark mode” is now planned'],
      ['grace@example.com', '1 new notification from An account'],
    ]);
    expect(await unmailed(userId)).toEqual([]);
  });
});
