import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../server/database/database.ts';
import { migrate } from '../../server/database/migrator.ts';
import type { Query } from '../../server/database/query.ts';
import { connect, createBareDatabase } from '../helpers/database.ts';
import { migrationsBefore } from '../helpers/migrations.ts';

type Values = Record<string, unknown>;
type Row = Record<string, number>;

/**
 * Returns a function that finds an SQL statement of the previous server version by its name. That version had the
 * migrations up to 0013.
 */
async function statementsBefore(): Promise<(name: string) => Query<Values, Row>> {
  const file = new URL('../fixtures/statements-of-0013.json', import.meta.url);
  const statements: Query<Values, Row>[] = JSON.parse(await readFile(file, 'utf8'));
  return name => {
    const statement = statements.find(one => one.name === name);
    if (!statement) throw new Error(`No statement ${name}`);
    return statement;
  };
}

/**
 * SQL that creates two accounts with equal boards. In each account, the second idea is merged into the first. Account 1
 * has a webhook and a stored response to an idempotent request.
 */
const oldData = `
  insert into users (email, name) values ('ada@example.com', 'Ada'), ('jun@example.com', 'Jun');
  insert into accounts (slug, name) values ('acme', 'Acme'), ('other', 'Other');
  insert into memberships (account_id, user_id, role) select a.id, u.id, 'owner' from accounts a, users u;
  insert into boards (account_id, slug, name) select id, 'web', 'Web' from accounts order by id;
  insert into statuses (account_id, board_id, key, category, label, position)
    select b.account_id, b.id, key, category, key, position
    from boards b, (values ('open', 'inbox', 0), ('planned', 'planned', 1)) s (key, category, position)
    order by b.id, position;
  insert into tags (account_id, board_id, name, color) select account_id, id, 'bug', '#ff0000' from boards order by id;
  insert into voters (account_id) select a.id from accounts a, generate_series(1, 20) order by a.id;
  insert into api_tokens (account_id, issuer_id, voter_id, name, secret_hash)
    select a.id, 1, min(v.id), 'token', sha256(a.slug::bytea) from accounts a join voters v on v.account_id = a.id
    group by a.id order by a.id;
  insert into api_token_boards (token_id, board_id, level)
    select t.id, b.id, 'moderate' from api_tokens t join boards b on b.account_id = t.account_id;
  insert into idempotency_keys (token_id, path, key, fingerprint, status, body, expires_at)
    values (1, '/api/v1/ideas', 'old', 'x', 201, '{"id":1}', now() + interval '1 day');
  insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
    select b.account_id, b.id, 1, s.id, 'Idea ' || n, 'Body', 'published'
    from boards b join statuses s on s.board_id = b.id and s.key = 'open', generate_series(1, 50) n
    order by b.id, n;
  insert into votes (idea_id, voter_id, account_id, value)
    select i.id, v.id, i.account_id, 1 from ideas i join voters v on v.account_id = i.account_id;
  update ideas set up_count = 20;
  insert into comments (account_id, idea_id, author_id, body) select account_id, id, 1, 'Yes' from ideas;
  update ideas set comment_count = 1;
  insert into followers (idea_id, user_id, account_id) select id, 1, account_id from ideas;
  insert into idea_tags (idea_id, tag_id, account_id)
    select i.id, t.id, i.account_id from ideas i join tags t on t.board_id = i.board_id;
  insert into merges (account_id, source_id, target_id)
    select account_id, min(id) + 1, min(id) from ideas group by account_id;
  update ideas i set merged_into_id = m.target_id from merges m where m.source_id = i.id;
  select carry_votes(target_id) from merges;
  insert into webhook_endpoints (account_id, board_id, url, secret) values (1, null, 'https://example.com/hook', 'x');
  create table ext_links (idea_id bigint constraint ext_links_idea_id_fkey references ideas on delete cascade);
  insert into ext_links select id from ideas where title = 'Idea 50';
  select record_event('idea.created', min(id), null, 1, null, '{}', now()) from ideas;`;

/** SQL that counts the rows that an upgrade must keep. */
const countsQuery = `
  select (select count(*)::int from ideas) as ideas, (select count(*)::int from votes) as votes,
    (select count(*)::int from comments) as comments, (select count(*)::int from followers) as followers,
    (select count(*)::int from events) as events, (select count(*)::int from webhook_deliveries) as deliveries,
    (select count(*)::int from idempotency_keys) as answers, (select count(*)::int from api_token_boards) as grants`;

/**
 * Looks up a token as the previous server version does at the start of each request, before the request's transaction.
 */
async function identify(database: Database, of: (name: string) => Query<Values, Row>) {
  const only = <T>(value: T) => [value];
  const [token] = await database.query(of('identify_tokens'), {
    tokenIds: only(1),
    hashes: only(Buffer.alloc(32)),
    accessHashes: only(null),
    audiences: only(null),
    times: only(new Date()),
    buckets: only(null),
    bucketsStartedAt: only(null),
    bucketsExpireAt: only(null),
    paths: only('/api/v1/ideas'),
    idempotencyKeys: only('old'),
    counters: [],
    countersStartedAt: [],
    countersExpireAt: [],
  });
  expect([token?.account_id, token?.status]).toEqual([1, 201]);
}

/**
 * Creates and changes an idea in account 1, and delivers the events, with the SQL statements of the previous server
 * version.
 */
async function useVersionBefore(database: Database, of: (name: string) => Query<Values, Row>, round: string) {
  const [accountId, boardId, authorId, tokenId, voterId] = [1, 1, 1, 1, 1];
  const now = new Date();
  const actor = { actorId: authorId, tokenId };
  await identify(database, of);
  const ideaId = await database.transaction(async ({ query }) => {
    await query(of('select_idempotent_answer'), { tokenId, path: '/api/v1/ideas', key: round, now });
    await query(of('lock_board_for_submission'), { accountId, boardId });
    const [idea] = await query(of('insert_idea'), {
      ...{ accountId, boardId, authorId, tokenId, statusId: 1, title: round, body: round, now },
      ...{ moderationState: 'published', event: 'idea.created' },
    });
    const answer = {
      fingerprint: Buffer.from('x'),
      status: 201,
      body: '{}',
      expiresAt: new Date(now.getTime() + 60_000),
    };
    await query(of('insert_idempotent_answer'), { tokenId, path: '/api/v1/ideas', key: round, ...answer });
    return idea?.id ?? 0;
  });
  await identify(database, of);
  await database.query(of('cast_vote'), { ideaId, boardId, voterId, value: 1, now, ...actor });
  await identify(database, of);
  await database.transaction(async ({ query }) => {
    await query(of('lock_ideas'), { accountId, boardId, ideaIds: [ideaId], isModerator: true });
    const comment = JSON.stringify({ idea_id: ideaId, body: 'No', author: { id: 1, name: 'Ada' } });
    await query(of('insert_comment'), { accountId, ideaId, authorId, tokenId, body: 'No', comment, now });
    await query(of('insert_idea_tag'), { accountId, boardId, tagId: 1, ideaId, now });
    await query(of('update_idea_status'), { accountId, ideaId, statusId: 2, details: '{}', now, ...actor });
  });
  const merge = { accountId, sourceId: ideaId, targetId: 1, now };
  await identify(database, of);
  await database.query(of('copy_votes'), { ...merge, afterVoterId: 0, count: 100 });
  await database.transaction(async ({ query }) => {
    await query(of('lock_ideas'), { accountId, boardId, ideaIds: [1, ideaId], isModerator: true });
    await query(of('begin_merge'), merge);
    await query(of('end_merge'), merge);
    await query(of('record_event'), { type: 'idea.unmerged', ideaId, targetId: 1, extra: '{}', now, ...actor });
  });
  const place = { accountId, boardId, voterId, statusKey: null, category: null, offset: 0, limit: 21 };
  await identify(database, of);
  expect(await database.query(of('list_ideas_newest_21'), place)).toHaveLength(21);
  expect(await database.query(of('list_ideas_top_21'), place)).toHaveLength(21);
  const [idea] = await database.query(of('select_ideas'), { accountId, voterId, ideaIds: [ideaId] });
  expect(idea).toMatchObject({
    status_key: 'planned',
    up_count: 1,
    my_vote: 1,
    comment_count: 1,
    merged_into_id: null,
  });
  await deliverAsVersionBefore(database, of, ideaId);
}

/** Delivers the pending webhook events of an idea, and notifies users and extensions of these events. */
async function deliverAsVersionBefore(database: Database, of: (name: string) => Query<Values, Row>, ideaId: number) {
  const lane = { accountIds: [1], endpointIds: [1], lanes: [ideaId % 8] };
  for (const due of await database.query(of('select_due_deliveries'), lane)) {
    const body: { data: { idea: object } } = JSON.parse(String(due.body));
    expect(body.data.idea).toMatchObject({ id: expect.any(Number), status: expect.any(String), author: { id: 1 } });
    await database.query(of('record_webhook_successes'), {
      ...{ accountIds: [1], deliveryIds: [due.id], attemptedAt: [new Date()], durationsMs: [1], statuses: [204] },
      ...{ responses: [null], areProbes: [false], dueAt: [due.next_attempt_at] },
    });
    const eventId = due.event_id;
    expect(await database.query(of('select_event_for_extension'), { eventId })).toHaveLength(1);
    const batch = { after: 0, now: new Date(), chatTypes: [], batchSize: 10, mailBatchSize: 10 };
    expect(await database.query(of('tell_people'), { eventId, ...batch })).toHaveLength(1);
  }
}

test('an upgrade from migration 0009 keeps every row, even while the SQL statements of the previous server version run', async () => {
  const { url, drop } = await createBareDatabase();
  onTestFinished(drop);
  await migrate(url, [await migrationsBefore('0010')]);
  const client = await connect(url);
  onTestFinished(() => client.end());
  await client.query(oldData);
  const { rows: old } = await client.query(countsQuery);
  await migrate(url, [await migrationsBefore('0014')]);

  const database = await openDatabase({
    ...{ url, poolSize: 6, connectTimeoutMs: 30_000, statementTimeoutMs: 10_000 },
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => database.close());
  const of = await statementsBefore();
  let isMigrated = false;
  let rounds = 0;
  // Only one client sends statements. Two clients without pauses can keep a migration from its locks for a minute.
  const use = async () => {
    for (let left = 3; left > 0; ) {
      // When the migration has ended, the client runs three more rounds on the new schema.
      if (isMigrated) left--;
      await useVersionBefore(database, of, String(rounds++));
    }
  };
  const migrated = migrate(url).finally(() => {
    isMigrated = true;
  });
  await Promise.all([migrated, use()]);

  const { rows: now } = await client.query(countsQuery);
  const events = 5 * rounds;
  expect(now).toEqual([
    {
      ideas: old[0].ideas + rounds,
      votes: old[0].votes + rounds,
      comments: old[0].comments + rounds,
      followers: old[0].followers + rounds,
      events: old[0].events + events,
      deliveries: old[0].deliveries + events,
      answers: old[0].answers + rounds,
      grants: old[0].grants,
    },
  ]);
  const { rows: mixed } = await client.query(`
    select 'api_token_boards' as "table" from api_token_boards g join api_tokens t on t.id = g.token_id
      where g.account_id is distinct from t.account_id
    union all select 'idempotency_keys' from idempotency_keys k join api_tokens t on t.id = k.token_id
      where k.account_id is distinct from t.account_id
    union all select 'tallies' from ideas i
      where i.up_count <> (select count(*) from votes v where v.idea_id = i.id and v.value = 1)
    union all select 'deliveries' from webhook_deliveries d where d.state = 'pending' and d.lane <> 1`);
  expect(mixed).toEqual([]);

  // The table ext_links stands for a table of an extension. Its foreign key contains only the id of an idea, without
  // the account id.
  await expect(client.query('insert into ext_links values (0)')).rejects.toThrow('ext_links_idea_id_fkey');
  await client.query(`delete from ideas where title = 'Idea 50'`);
  expect((await client.query('select from ext_links')).rows).toEqual([]);
}, 60_000);
