import { expect, onTestFinished, test } from 'vitest';
import { chatUrlPurpose } from '../../../server/domain/chat/chat-url.ts';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { followIdea } from '../../../server/domain/notifications/followers.ts';
import { createMember, createWorld, insertIdea } from '../../helpers/fixtures.ts';
import { waitingJobs } from '../../helpers/jobs.ts';
import { startReceiverForTest } from '../../helpers/receiver.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForTest } from '../../helpers/server.ts';
import { startSmtpReceiver } from '../../helpers/smtp-receiver.ts';
import { administer, eventually, testSecretBox } from '../../helpers/webhooks.ts';
import { startWorkerForTest } from '../../helpers/worker.ts';

test('a separate worker turns an event of the server into notifications in the app, mails and a chat post', async () => {
  const smtp = await startSmtpReceiver();
  onTestFinished(smtp.close);
  const chat = await startReceiverForTest(200);
  const server = await startServerForTest();
  const world = await createWorld(server);
  const ideaId = await insertIdea(server, world, { title: 'Dark mode' });
  for (const name of ['grace', 'later']) {
    const userId = await createMember(server, world.accountId, 'member', name);
    await server.sql('update users set notification_email = $2 where id = $1', [userId, `${name}@example.com`]);
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId }));
  }
  await server.sql(`insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'slack', $3)`, [
    world.accountId,
    world.boardId,
    testSecretBox.seal(chat.url, chatUrlPurpose),
  ]);
  smtp.refuse('later@example.com', 450);
  await startWorkerForTest(server, { environment: { SMTP_URL: smtp.url } });

  await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'Soon.'));

  await chat.waitForRequests(1);
  await eventually(async () => {
    expect(smtp.received.map(({ to }) => to)).toEqual(['grace@example.com']);
    // The mail server refused one of the two mails temporarily. The refused mail waits for a retry in a separate job.
    const [deferred] = await server.sql<{ id: number }>('select id from notifications where mailed_at is null');
    expect((await waitingJobs(server)).filter(({ task }) => task === 'mail_people')).toMatchObject([
      { payload: [{ account_id: world.accountId, id: deferred?.id }], attempts: 1 },
    ]);
  });
  smtp.accept();
  await eventually(async () => {
    expect(smtp.received.map(({ to }) => to)).toEqual(['grace@example.com', 'later@example.com']);
    expect(await server.sql('select from notifications where mailed_at is null')).toEqual([]);
  });
  expect(chat.received).toHaveLength(1);
});
