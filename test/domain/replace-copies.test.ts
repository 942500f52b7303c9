import { expect, test } from 'vitest';
import { replaceCopiesOfIdea } from '../../server/domain/ideas/replace-copies.ts';
import { connect } from '../helpers/database.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const server = await startServerForFile();

test('if an idea is edited again while a job replaces the texts of the first edit, the new texts stay in the later events and in the responses stored after the second edit', async () => {
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'moderate');
  const created = await request(server, 'POST /api/v1/ideas', { token, json: { title: 'First', body: 'First body.' } });
  const { id } = created.body;
  const edit = (title: string) =>
    request(server, `PATCH /api/v1/ideas/${id}`, { token, json: { title, body: `${title} body.` } });
  const plan = () =>
    request(server, `POST /api/v1/ideas/${id}/status`, {
      token,
      headers: { 'idempotency-key': 'plan' },
      json: { status: 'planned' },
    });
  expect((await edit('Second')).status).toBe(200);
  // The job reads 500 events at a time, in the order of their ids. These 500 events come first, so the job reads the
  // event of the third title later.
  await server.sql(
    `insert into events (id, account_id, board_id, idea_id, actor_id, type, body, occurred_at)
    select ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, e.account_id, e.board_id, e.idea_id,
      e.actor_id, e.type, e.body, e.occurred_at
    from (select * from events where idea_id = $1 limit 1) e cross join generate_series(1, 500) n`,
    [id],
  );
  const holder = await connect(server.url);
  await holder.query('begin');
  await holder.query(`select from events where id = '00000000-0000-4000-8000-000000000001' for update`);
  const job = replaceCopiesOfIdea(server.database, { accountId: world.accountId, ideaId: id });
  await waitForLockWaits(server, 1);
  expect((await edit('Third')).status).toBe(200);
  expect((await plan()).status).toBe(200);
  await holder.query('commit');
  await holder.end();
  await job;

  const { body } = await request(server, 'GET /api/v1/events?types=idea.updated&limit=100', { token });
  expect(body.data.at(-1).event.data.idea).toMatchObject({ title: 'Third', body: 'Third body.' });
  const replayed = await plan();
  expect(replayed.headers.get('idempotency-replayed')).toBe('true');
  expect(replayed.body).toMatchObject({ title: 'Third', body: 'Third body.' });
});
