import { parse } from 'node-html-parser';
import { describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { connect } from '../helpers/database.ts';
import { createMember, createUser, createWorld, insertIdea } from '../helpers/fixtures.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { logStatements } from '../helpers/statement-log.ts';
import { addWebhook } from '../helpers/webhooks.ts';
import { signInOperator } from './operators.ts';

const server = await startServerForFile();
const operator = await signInOperator(server);

/** Returns the cards on a list page of the operator's panel. */
async function cardsAt(path: string) {
  const { html, status } = await operator.visitor.get(path);
  expect([path, status]).toEqual([path, 200]);
  return parse(html)
    .querySelectorAll('main .card-list > li')
    .map(card => card.textContent.replaceAll(/\s+/g, ' ').trim());
}

/** Follows the links from page to page. Returns the number of cards on each page, and the links in the cards. */
async function walk(path: string) {
  const sizes: number[] = [];
  const links: string[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page = parse((await operator.visitor.get(next)).html);
    const found = page.querySelectorAll('main .card-list > li a').map(link => link.getAttribute('href') ?? '');
    sizes.push(found.length);
    links.push(...found);
    next = page.querySelector('a[rel=next]')?.getAttribute('href')?.replaceAll('&amp;', '&');
  }
  return { sizes, links };
}

describe('the list of accounts', () => {
  test("the operator's list of accounts shows each account's plan, state and size, and can be searched by the beginning of a name or slug", async () => {
    const world = await createWorld(server);
    await createMember(server, world.accountId, 'member');
    await insertIdea(server, world);
    await server.sql(`update accounts set name = 'Tïdewater Works', slug = 'tide-1', plan = 'business' where id = $1`, [
      world.accountId,
    ]);
    for (const q of ['tÏdew', 'TIDE-', ' tide-1 ']) {
      expect(await cardsAt(`/operator/accounts?${new URLSearchParams({ q })}`)).toEqual([
        'Tïdewater Works Active tide-1 Plan: business 2 members 1 board 1 idea',
      ]);
    }
    for (const q of ['idewater', 'tide%', 't_de', 'works', '\\']) {
      expect([q, await cardsAt(`/operator/accounts?${new URLSearchParams({ q })}`)]).toEqual([q, []]);
    }
  });

  test("the operator's list of accounts can be filtered by state, and shows the earliest time at which a scheduled erasure can happen", async () => {
    const [active, scheduled, erasing] = [
      await createWorld(server),
      await createWorld(server),
      await createWorld(server),
    ];
    await server.sql(`update accounts set name = 'State ' || id where id = any($1)`, [
      [active, scheduled, erasing].map(({ accountId }) => accountId),
    ]);
    await server.sql(`update accounts set deletion_scheduled_at = '2026-03-02T09:00:00Z' where id = any($1)`, [
      [scheduled.accountId, erasing.accountId],
    ]);
    await server.sql('update accounts set erasure_began_at = now() where id = $1', [erasing.accountId]);
    const found = async (state: string) => (await cardsAt(`/operator/accounts?q=state&state=${state}`)).join();
    expect(await found('active')).toContain(`State ${active.accountId} Active`);
    expect(await found('scheduled')).toMatch(
      new RegExp(`^State ${scheduled.accountId} Deletion scheduled .* Erased after 1 Apr 2026, 09:00 UTC$`),
    );
    expect(await found('erasing')).toMatch(new RegExp(`^State ${erasing.accountId} Being erased`));
    expect((await cardsAt('/operator/accounts?q=state&state=wrong')).length).toBe(3);
  });

  test("the pages of the operator's list of accounts show each account once, newest first, and at most 25 accounts at a time", async () => {
    await server.sql(`insert into accounts (slug, name) select 'paged-' || n, 'Paged' from generate_series(1, 60) n`);
    const { sizes, links } = await walk('/operator/accounts?q=paged');
    expect(sizes).toEqual([25, 25, 10]);
    const expected = await server.sql<{ id: number }>(`select id from accounts where name = 'Paged' order by id desc`);
    expect(links).toEqual(expected.map(({ id }) => `/operator/accounts/${id}`));
  });

  test("the operator's page of an account with seven owners links to only five of these owners", async () => {
    const { accountId } = await createWorld(server);
    for (let n = 0; n < 6; n++) await createMember(server, accountId, 'owner');
    const { html } = await operator.visitor.get(`/operator/accounts/${accountId}`);
    expect(parse(html).querySelectorAll('main .facts a').length).toBe(5);
  });
});

describe('the list of users', () => {
  test("the operator's user search finds a user by another spelling of the e-mail address, and by the beginning of the address or name", async () => {
    const userId = await createUser(server, 'Zoë Whitcombe');
    await server.sql(
      `update users set email = 'Zoe@Bücher.example', canonical_email = 'zoe@xn--bcher-kva.example' where id = $1`,
      [userId],
    );
    for (const q of ['zoe@xn--bcher-kva.EXAMPLE', 'ｚoe@BÜCHER.example', 'ZOE@b', 'zoË w']) {
      const found = await cardsAt(`/operator/users?${new URLSearchParams({ q })}`);
      expect([q, found]).toEqual([q, ['Zoë Whitcombe Zoe@Bücher.example 0 accounts']]);
    }
    for (const q of ['hitcombe', 'zo_', 'nobody@example.com']) {
      expect([q, await cardsAt(`/operator/users?${new URLSearchParams({ q })}`)]).toEqual([q, []]);
    }
  });

  test("the operator's list of users shows operators, blocks and requested deletions, but not the placeholder that replaces deleted users", async () => {
    const { accountId } = await createWorld(server);
    const userId = await createMember(server, accountId, 'member', 'Xaver');
    await server.sql(`insert into user_blocks (account_id, user_id, reason) values ($1, $2, 'Spam')`, [
      accountId,
      userId,
    ]);
    await server.sql('update users set deletion_requested_at = now(), is_operator = true where id = $1', [userId]);
    const [card = ''] = await cardsAt('/operator/users?q=xaver');
    expect(card).toMatch(/^Xaver Operator Blocked Deletion requested /);
    const { html } = await operator.visitor.get(`/operator/users/${userId}`);
    for (const text of ['Spam', 'Deletion requested', 'operator of the server']) expect(html).toContain(text);
    const [placeholder] = await server.sql<{ id: number }>(
      `insert into users (name, is_placeholder) values ('Deleted user', true) returning id`,
    );
    expect(await cardsAt('/operator/users?q=deleted')).toEqual([]);
    expect((await operator.visitor.get(`/operator/users/${placeholder?.id}`)).status).toBe(404);
  });

  test("the pages of the operator's list of users show each user once and at most 25 users at a time", async () => {
    await server.sql(
      `insert into users (email, canonical_email, name)
      select 'paged' || n || '@example.com', 'paged' || n || '@example.com', 'Paged' from generate_series(1, 60) n`,
    );
    const { sizes, links } = await walk('/operator/users?q=paged');
    expect([sizes, new Set(links).size]).toEqual([[25, 25, 10], 60]);
  });
});

describe('the webhooks of all accounts', () => {
  test("the operator's lists of failing webhooks, disabled webhooks and webhooks with dead deliveries show the account and the delivery counts of each webhook", async () => {
    const own = await startServerForTest();
    const { visitor } = await signInOperator(own);
    const [first, second] = [await createWorld(own), await createWorld(own)];
    const url = (host: string) => `https://${host}/hooks/secret-path?key=secret`;
    const failing = await addWebhook(own, first, { url: url('failing.example.com') });
    const disabled = await addWebhook(own, second, { url: url('disabled.example.com') });
    const well = await addWebhook(own, second, { url: url('well.example.com') });
    await own.sql(`update webhook_endpoints set failing_since = '2026-03-02T09:00:00Z' where id = any($1)`, [
      [failing.id, disabled.id],
    ]);
    await own.sql(`update webhook_endpoints set disabled_at = now(), disabled_reason = 'Gone' where id = $1`, [
      disabled.id,
    ]);
    const deliver = (accountId: number, endpointId: number, state: string, count: number) =>
      own.sql(
        `with added as (
          insert into events (account_id, type, body, occurred_at)
          select $1, 'webhook.test', '{"secret": "body"}', now() from generate_series(1, $4::int) returning id
        )
        insert into webhook_deliveries (account_id, endpoint_id, event_id, state, next_attempt_at, finished_at)
        select $1, $2, id, $3, case when $3 = 'pending' then now() end, case when $3 <> 'pending' then now() end from added`,
        [accountId, endpointId, state, count],
      );
    await deliver(first.accountId, failing.id, 'dead', 1001);
    await deliver(first.accountId, failing.id, 'pending', 2);
    await deliver(second.accountId, well.id, 'dead', 1);
    await deliver(second.accountId, well.id, 'delivered', 5);
    const listed = async (path: string) => {
      const { html } = await visitor.get(path);
      expect(html).not.toContain('secret');
      return parse(html)
        .querySelectorAll('main .card-list > li')
        .map(card => card.textContent.replaceAll(/\s+/g, ' ').trim());
    };
    const slugs = await own.sql<{ slug: string }>('select slug from accounts order by id');
    const [one, other] = slugs.map(({ slug }) => `An account ${slug}`);
    const ofFailing = `failing.example.com Failing Webhook ${failing.id} ${one} more than 1,000 dead deliveries 2 pending deliveries All deliveries fail since 2 Mar 2026, 09:00 UTC`;
    expect(await listed('/operator/webhooks')).toEqual([ofFailing]);
    expect(await listed('/operator/webhooks?state=disabled')).toEqual([
      expect.stringMatching(
        `^disabled.example.com Disabled Webhook ${disabled.id} ${other} 0 dead deliveries 0 pending deliveries Disabled .* Gone$`,
      ),
    ]);
    expect(await listed('/operator/webhooks?state=dead')).toEqual([
      ofFailing,
      `well.example.com Enabled Webhook ${well.id} ${other} 1 dead delivery 0 pending deliveries`,
    ]);
    expect((await listed(`/operator/accounts/${second.accountId}`)).map(card => card.split(' ')[0])).toEqual([
      'disabled.example.com',
      'well.example.com',
    ]);
  });

  test("the operator's lists of failing webhooks and of webhooks with dead deliveries show 25 webhooks on each full page", async () => {
    const { accountId } = await createWorld(server);
    await server.sql(
      `with endpoint as (
        insert into webhook_endpoints (account_id, url, secret, failing_since)
        select $1, 'https://hooks.example.com', '', now() from generate_series(1, 30) returning id
      ), event as (
        insert into events (account_id, type, body, occurred_at) values ($1, 'webhook.test', '{}', now()) returning id
      )
      insert into webhook_deliveries (account_id, endpoint_id, event_id, state, finished_at)
      select $1, endpoint.id, event.id, 'dead', now() from endpoint, event`,
      [accountId],
    );
    for (const state of ['failing', 'dead']) {
      expect([state, (await walk(`/operator/webhooks?state=${state}`)).sizes]).toEqual([state, [25, 5]]);
    }
    expect((await operator.visitor.get('/operator/webhooks?state=dead&after=wrong')).status).toBe(200);
  });
});

describe('large installations', () => {
  /** SQL that creates one account with many rows, many small accounts, and a few webhooks with problems. */
  const manyRows = `
    insert into accounts (slug, name) select 'many-' || n, 'Many ' || n from generate_series(1, 8000) n;
    insert into users (email, canonical_email, name)
      select 'many' || n || '@example.com', 'many' || n || '@example.com', 'Many ' || n from generate_series(1, 4000) n;
    insert into memberships (account_id, user_id, role)
      select case when u.id % 2 = 0 then (select min(id) from accounts) else a.id end, u.id, 'owner'
      from users u join accounts a on a.name = u.name;
    insert into ideas (account_id, board_id, status_id, author_id, title, body, moderation_state)
      select i.account_id, i.board_id, i.status_id, i.author_id, 'Many', 'Text', 'published'
      from (select * from ideas limit 1) i, generate_series(1, 4000);
    insert into webhook_endpoints (account_id, url, secret)
      select id, 'https://many.example.com', '' from accounts where id % 2 = 0;
    insert into events (account_id, type, body, occurred_at)
      select account_id, 'webhook.test', '{}', now() from webhook_endpoints, generate_series(1, 3);
    insert into webhook_deliveries (account_id, endpoint_id, event_id, state, finished_at)
      select w.account_id, w.id, e.id, case when w.id % 400 = 0 then 'dead' else 'delivered' end, now()
      from webhook_endpoints w join events e on e.account_id = w.account_id;
  `;
  /**
   * The tables that `manyRows` fills. PostgreSQL may read every other table as a whole, because the other tables have
   * few rows.
   */
  const largeTables = ['accounts', 'users', 'memberships', 'ideas', 'webhook_endpoints', 'webhook_deliveries'];

  test("thirteen pages of the operator's panel never read all rows of a large table such as accounts, users or ideas", async () => {
    const large = await startServerForTest();
    const world = await createWorld(large);
    await insertIdea(large, world);
    const { visitor } = await signInOperator(large);
    const client = await connect(large.url);
    try {
      await client.query(manyRows);
      await client.query('vacuum analyze');
      // With the cost settings for an SSD, PostgreSQL prefers an index even for tables as small as these.
      await client.query('set random_page_cost = 1.1');
      const readWhole: string[] = [];
      for (const path of [
        '/operator',
        '/operator/accounts',
        '/operator/accounts?q=many%2039&before=3000',
        '/operator/accounts?q=account',
        '/operator/accounts?state=scheduled',
        '/operator/accounts?state=erasing&q=m',
        `/operator/accounts/${world.accountId}`,
        '/operator/users',
        '/operator/users?q=many399',
        `/operator/users/${world.ownerId}`,
        '/operator/webhooks',
        '/operator/webhooks?state=disabled',
        '/operator/webhooks?state=dead',
      ]) {
        const { result, statements } = await logStatements(() => visitor.get(path));
        expect([path, result.status]).toEqual([path, 200]);
        for (const { text, values } of statements) {
          if (!/^(select|with)\b/i.test(text)) continue;
          const { rows } = await client.query(`explain (format json) ${text}`, values);
          const scanned = JSON.stringify(rows).matchAll(/"Node Type":"Seq Scan"[^{}]*?"Relation Name":"(\w+)"/g);
          const tables = [...scanned].map(([, table = '']) => table).filter(table => largeTables.includes(table));
          readWhole.push(...tables.map(table => `${path}: ${table}`));
        }
      }
      expect(readWhole).toEqual([]);
    } finally {
      await client.end();
    }
    expect(readAudit(large.auditLines).length).toBeGreaterThan(10);
  });
});
