import { beforeEach, describe, expect, test } from 'vitest';
import { commentOnIdea } from '../../../server/domain/comments/comments.ts';
import { createIdea } from '../../../server/domain/ideas/create-idea.ts';
import { mergeIdea, unmergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { approveIdea, rejectIdea } from '../../../server/domain/moderation/moderate-idea.ts';
import { followIdea } from '../../../server/domain/notifications/followers.ts';
import type { NotificationToMail } from '../../../server/domain/notifications/notifications.ts';
import { setIdeaStatus } from '../../../server/domain/statuses/set-idea-status.ts';
import { asUser } from '../../helpers/administration.ts';
import { createMember, createUser, createWorld, insertIdea, type World } from '../../helpers/fixtures.ts';
import { runJobs, waitingJobs } from '../../helpers/jobs.ts';
import { runAsUser } from '../../helpers/run-as-user.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { logStatements } from '../../helpers/statement-log.ts';
import { administer } from '../../helpers/webhooks.ts';

let world: World;
let ideaId: number;

const server = await startServerForFile();

beforeEach(async () => {
  world = await createWorld(server);
  ideaId = await insertIdea(server, world, { title: 'Dark mode' });
});

/** Returns the ids of the users who got a notification in the account, grouped by the kind of the notification. */
async function told(): Promise<Record<string, number[]>> {
  const rows = await server.sql<{ kind: string; user_ids: number[] }>(
    `select kind, array_agg(user_id order by user_id) as user_ids from notifications where account_id = $1 group by kind`,
    [world.accountId],
  );
  return Object.fromEntries(rows.map(row => [row.kind, row.user_ids.map(Number)]));
}

async function tell() {
  expect(await runJobs(server)).toEqual([]);
  return told();
}

async function createFollower(id = ideaId, name = 'A follower') {
  const userId = await createMember(server, world.accountId, 'member', name);
  await administer(server, admin => followIdea(admin, world.accountId, { ideaId: id, userId }));
  return userId;
}

const setStatus = (userId: number, status = 'planned') =>
  runAsUser(server, world, userId, op => setIdeaStatus(op, ideaId, status));

describe('the notifications of followers', () => {
  test('a follower of an idea gets one notification each for a new status, a comment, a merge and an unmerge', async () => {
    const follower = await createFollower();
    const targetId = await insertIdea(server, world, { title: 'Themes' });

    await setStatus(world.ownerId);
    await runAsUser(server, world, world.ownerId, op => commentOnIdea(op, ideaId, 'Soon.'));
    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));
    await runAsUser(server, world, world.ownerId, op => unmergeIdea(op, ideaId));

    expect(await tell()).toEqual({
      'idea.status_changed': [follower],
      'comment.created': [follower],
      'idea.merged': [follower],
      'idea.unmerged': [follower],
    });
  });

  test('each follower of a merged idea or its target gets one notification of the merge, even if the follower follows both ideas', async () => {
    const targetId = await insertIdea(server, world, { title: 'Themes' });
    const ofSource = await createFollower(ideaId);
    const ofTarget = await createFollower(targetId);
    const ofBoth = await createFollower(ideaId);
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId: targetId, userId: ofBoth }));

    await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));

    expect(await tell()).toEqual({ 'idea.merged': [ofSource, ofTarget, ofBoth] });
  });

  test('the author of an idea and its commenters become followers of the idea', async () => {
    const author = await createMember(server, world.accountId, 'member', 'Author');
    const commenter = await createMember(server, world.accountId, 'member', 'Commenter');
    const idea = await runAsUser(
      server,
      world,
      author,
      op => createIdea(op, { title: 'Export', body: 'As CSV.' }),
      false,
    );
    ideaId = idea.id;
    await runAsUser(server, world, commenter, op => commentOnIdea(op, ideaId, 'Yes!'), false);
    await tell();
    await setStatus(world.ownerId);

    expect(await tell()).toEqual({ 'comment.created': [author], 'idea.status_changed': [author, commenter] });
  });

  test('a follower gets no notification of their own action, whether they act in person or through a token', async () => {
    const follower = await createFollower();
    await administer(server, admin => followIdea(admin, world.accountId, { ideaId, userId: world.ownerId }));

    await setStatus(world.ownerId);
    await runAsUser(server, world, world.ownerId, op =>
      setIdeaStatus({ ...op, actor: { ...op.actor, tokenId: 1 } }, ideaId, 'done'),
    );

    expect(await tell()).toEqual({ 'idea.status_changed': [follower, follower] });
  });

  test('followers who are blocked, are no longer members, or are erased get no notifications', async () => {
    const [follower, blocked, left] = [await createFollower(), await createFollower(), await createFollower()];
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, blocked]);
    await server.sql('delete from memberships where user_id = $1', [left]);
    const placeholder = await createUser(server, 'Deleted user');
    await server.sql('update users set email = null, is_placeholder = true where id = $1', [placeholder]);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      world.accountId,
      placeholder,
    ]);
    await server.sql('insert into followers (idea_id, user_id, account_id) values ($1, $2, $3)', [
      ideaId,
      placeholder,
      world.accountId,
    ]);

    await setStatus(world.ownerId);

    expect(await tell()).toEqual({ 'idea.status_changed': [follower] });
    await server.sql('delete from users where id = $1', [placeholder]);
  });

  test('a follower who is blocked only in another account still gets notifications', async () => {
    const follower = await createFollower();
    const elsewhere = await createWorld(server);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [elsewhere.accountId, follower]);

    await setStatus(world.ownerId);

    expect(await tell()).toEqual({ 'idea.status_changed': [follower] });
  });

  test('an event of an idea does not notify the followers of another idea', async () => {
    await createFollower(await insertIdea(server, world, { title: 'Another' }));

    await setStatus(world.ownerId);

    expect(await tell()).toEqual({});
  });
});

describe('notifications on a board with pre-moderation', () => {
  let author: number;
  let moderators: number[];

  beforeEach(async () => {
    world = await createWorld(server, { preModeration: true });
    author = await createMember(server, world.accountId, 'member', 'Author');
    moderators = [
      world.ownerId,
      await createMember(server, world.accountId, 'admin'),
      await createMember(server, world.accountId, 'moderator'),
    ];
    const idea = await runAsUser(
      server,
      world,
      author,
      op => createIdea(op, { title: 'Export', body: 'As CSV.' }),
      false,
    );
    ideaId = idea.id;
  });

  test('only owners, admins and moderators of the account get notifications of pending ideas', async () => {
    expect(await tell()).toEqual({ 'idea.pending': moderators });
  });

  test('an admin gets no notification of their own pending idea', async () => {
    const [, admin = 0] = moderators;
    await server.sql(`delete from notifications; delete from graphile_worker._private_jobs`);
    await runAsUser(server, world, admin, op => createIdea(op, { title: 'Mine', body: 'Through a token.' }), false);

    expect(await tell()).toEqual({ 'idea.pending': moderators.filter(one => one !== admin) });
  });

  test('when a pending idea is approved, the server records the event `idea.created` and notifies the author of the idea', async () => {
    await tell();
    const types = () =>
      server.sql('select type, actor_id::int from events where idea_id = $1 order by occurred_at, type', [ideaId]);
    expect(await types()).toEqual([{ type: 'idea.pending', actor_id: author }]);

    expect(await administer(server, admin => approveIdea(asUser(admin, world.ownerId), world.accountId, ideaId))).toBe(
      true,
    );
    expect(await administer(server, admin => approveIdea(asUser(admin, world.ownerId), world.accountId, ideaId))).toBe(
      false,
    );

    expect(await tell()).toEqual({ 'idea.pending': moderators, 'idea.approved': [author] });
    expect(await types()).toEqual([
      { type: 'idea.pending', actor_id: author },
      { type: 'idea.created', actor_id: world.ownerId },
    ]);
  });

  test('the author of an idea gets a notification when the operator of the server approves the idea', async () => {
    await administer(server, admin => approveIdea(admin, world.accountId, ideaId));

    expect(await tell()).toMatchObject({ 'idea.approved': [author] });
    const [event] = await server.sql<{ body: { data: { actor: unknown; idea: { moderation_state: string } } } }>(
      `select body from events where idea_id = $1 and type = 'idea.created'`,
      [ideaId],
    );
    expect(event?.body.data.actor).toBeNull();
    expect(event?.body.data.idea.moderation_state).toBe('published');
  });

  test('when a moderator rejects an idea, its author gets a notification with the reason, and webhooks get no event', async () => {
    await server.sql(
      `insert into webhook_endpoints (account_id, url, secret) values ($1, 'https://example.com/', '\\x00')`,
      [world.accountId],
    );
    await administer(server, admin => rejectIdea(admin, world.accountId, ideaId, 'A duplicate.'));

    expect(await tell()).toMatchObject({ 'idea.rejected': [author] });
    const [event] = await server.sql<{ id: string; body: { data: { reason: string } } }>(
      `select id, body from events where idea_id = $1 and type = 'idea.rejected'`,
      [ideaId],
    );
    expect(event?.body.data.reason).toBe('A duplicate.');
    expect(await server.sql('select from webhook_deliveries where event_id = $1', [event?.id])).toEqual([]);
  });

  test('an author who approves their own idea gets no notification of the approval', async () => {
    await server.sql(`update memberships set role = 'moderator' where user_id = $1`, [author]);
    await administer(server, admin => approveIdea(asUser(admin, author), world.accountId, ideaId));

    expect((await tell())['idea.approved']).toBeUndefined();
  });
});

test('the author of an idea that needs no approval gets no notification of the idea', async () => {
  await runAsUser(server, world, world.ownerId, op => createIdea(op, { title: 'Export', body: 'As CSV.' }));

  expect(await tell()).toEqual({});
});

describe('the job that notifies all followers', () => {
  const addFollowers = (count: number, withAddress = false) =>
    server.sql(
      `with person as (
        insert into users (email, name, notification_email)
        select format('follower-%s-%s@example.com', $2::bigint, n), 'Follower ' || n,
          case when $4 then format('follower-%s-%s@example.com', $2::bigint, n) end
        from generate_series(1, $3::int) n
        returning id
      ), member as (
        insert into memberships (account_id, user_id, role) select $1, id, 'member' from person returning user_id
      )
      insert into followers (idea_id, user_id, account_id) select $2, user_id, $1 from member`,
      [world.accountId, ideaId, count, withAddress],
    );

  const countTold = async () => {
    const [row] = await server.sql<{ people: number; rows: number }>(
      `select count(distinct user_id)::int as people, count(*)::int as rows from notifications where account_id = $1`,
      [world.accountId],
    );
    return row;
  };

  /** Runs the due jobs. Returns the jobs that the due jobs have added, and does not run these added jobs. */
  async function jobsMade() {
    await server.sql(`create function hold() returns trigger language plpgsql as $$
      begin new.run_at := now() + interval '1 day'; return new; end $$`);
    await server.sql(`create trigger hold before insert on graphile_worker._private_jobs
      for each row execute function hold()`);
    expect(await runJobs(server)).toEqual([]);
    await server.sql('drop function hold cascade');
    return waitingJobs(server);
  }

  test('a notification job that runs twice creates no second notification, mail job or chat job', async () => {
    await addFollowers(3, true);
    await server.sql(`insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'slack', '\\x00')`, [
      world.accountId,
      world.boardId,
    ]);
    await setStatus(world.ownerId);
    const [event] = await server.sql<{ id: string }>('select id from events where idea_id = $1', [ideaId]);
    await server.sql(`delete from graphile_worker._private_jobs`);

    const jobs = async () => {
      await server.sql(`select graphile_worker.add_job('tell_people', $1::json)`, [
        JSON.stringify({ account_id: world.accountId, event_id: event?.id }),
      ]);
      return (await jobsMade()).map(({ task }) => task).sort();
    };

    expect(await jobs()).toEqual(['mail_people', 'post_to_chat']);
    expect(await countTold()).toEqual({ people: 3, rows: 3 });
    expect(await jobs()).toEqual(['mail_people', 'post_to_chat']);
    expect(await countTold()).toEqual({ people: 3, rows: 3 });
    await server.sql(`delete from graphile_worker._private_jobs`);
  });

  test('a mail job contains at most 100 notifications, and no notification for a user without a notification e-mail address', async () => {
    await addFollowers(250, true);
    await createFollower();
    await setStatus(world.ownerId);
    const jobs = await jobsMade();
    expect(jobs.map(({ task }) => task)).toEqual(Array(3).fill('mail_people'));
    const entries = jobs.map(({ payload }) => payload as NotificationToMail[]);
    const sizes = entries.map(({ length }) => length).sort((a, b) => a - b);
    expect(sizes).toEqual([50, 100, 100]);
    expect(new Set(entries.flat().map(({ id }) => id)).size).toBe(250);
    expect(new Set(entries.flat().map(({ account_id }) => account_id))).toEqual(new Set([world.accountId]));
    await server.sql(`delete from graphile_worker._private_jobs`);
  });

  test('a status change runs the same SQL statements for an idea with 10,000 followers as with ten, and all followers get a notification', async () => {
    await addFollowers(10);
    const few = await logStatements(() => setStatus(world.ownerId));
    await tell();
    expect(await countTold()).toEqual({ people: 10, rows: 10 });

    ideaId = await insertIdea(server, world, { title: 'Popular' });
    await addFollowers(10_000);
    const many = await logStatements(() => setStatus(world.ownerId));
    expect(many.statements.map(({ text }) => text)).toEqual(few.statements.map(({ text }) => text));

    await tell();
    expect(await countTold()).toEqual({ people: 10_010, rows: 10_010 });
  });

  test('a notification job that works in batches notifies every follower exactly once, whether the last batch is full or not', async () => {
    await addFollowers(1000);
    await setStatus(world.ownerId);
    await tell();
    expect(await countTold()).toEqual({ people: 1000, rows: 1000 });

    await createFollower();
    await setStatus(world.ownerId, 'done');
    await tell();
    expect(await countTold()).toEqual({ people: 1001, rows: 2001 });
  });
});
