import { expect, onTestFinished, test } from 'vitest';
import { followIdea } from '../../../server/domain/notifications/followers.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { createMember, createWorld, insertIdea } from '../../helpers/fixtures.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../../helpers/jobs.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForTest, type TestServerOptions } from '../../helpers/server.ts';
import { startSmtpReceiver } from '../../helpers/smtp-receiver.ts';
import { administer } from '../../helpers/webhooks.ts';

/** Starts a server with an idea. A user who has a notification e-mail address follows the idea. */
async function arrange(options: TestServerOptions) {
  const server = await startServerForTest(options);
  const world = await createWorld(server);
  const ideaId = await insertIdea(server, world);
  const userId = await createMember(server, world.accountId, 'member', 'Grace');
  await server.sql(`update users set notification_email = 'grace@example.com' where id = $1`, [userId]);
  await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId }));
  const setStatus = (key: string) => runAsUser(server, world, world.ownerId, op => setIdeaStatus(op, ideaId, key));
  const countRows = () =>
    server.sql('select count(*)::int as told, count(mailed_at)::int as mailed from notifications');
  return { server, setStatus, countRows };
}

test('if SMTP_URL is not set, users get notifications in the app but no mails, and the log says once that SMTP_URL is missing', async () => {
  const { server, setStatus, countRows } = await arrange({});
  for (const key of ['planned', 'done', 'open']) {
    await setStatus(key);
    expect(await runJobs(server)).toEqual([]);
  }

  expect(await countRows()).toEqual([{ told: 3, mailed: 0 }]);
  expect(await waitingJobs(server)).toEqual([]);
  expect(server.logLines.filter(line => line.includes('SMTP_URL is not set'))).toHaveLength(1);
});

test('mails wait in the job queue while the mail server is unavailable, and status changes of ideas still succeed', async () => {
  const { server, setStatus, countRows } = await arrange({ environment: { SMTP_URL: 'smtp://127.0.0.1:1' } });
  await setStatus('planned');
  expect(await runJobs(server)).toMatchObject([{ task: 'mail_people' }]);
  await makeJobsDue(server);
  expect(await runJobs(server)).toMatchObject([{ task: 'mail_people' }]);

  expect(await countRows()).toEqual([{ told: 1, mailed: 0 }]);
  expect(await waitingJobs(server)).toMatchObject([{ task: 'mail_people', attempts: 2 }]);
});

test('the default sender of mails is no-reply at the host of BASE_URL', async () => {
  const smtp = await startSmtpReceiver();
  onTestFinished(smtp.close);
  const { server, setStatus } = await arrange({
    environment: { SMTP_URL: smtp.url, BASE_URL: 'https://ideas.example.com:8443' },
  });
  await setStatus('planned');
  expect(await runJobs(server)).toEqual([]);

  expect(smtp.received[0]?.mail.from).toEqual({ name: 'Idea-Board', address: 'no-reply@ideas.example.com' });
});
