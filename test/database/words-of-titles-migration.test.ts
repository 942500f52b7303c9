import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../server/database/migrator.ts';
import { connect, createBareDatabase } from '../helpers/database.ts';
import { migrationsBefore } from '../helpers/migrations.ts';

test('an upgrade with the migrations 0049 and 0050 stores the words of existing titles in all accounts, and changes nothing else of the ideas', async () => {
  const { url, drop } = await createBareDatabase();
  onTestFinished(drop);
  await migrate(url, [await migrationsBefore('0049')]);
  const client = await connect(url);
  onTestFinished(() => client.end());
  const rows = async (text: string) => (await client.query(text)).rows;
  await client.query(`
    insert into accounts (slug, name) select 'account-' || n, 'Acme' from generate_series(1, 2) n;
    insert into users (email, name) values ('ada@example.com', 'Ada');
    insert into boards (account_id, slug, name) select id, 'ideas', 'Ideas' from accounts;
    insert into statuses (account_id, board_id, key, category, label, position)
      select account_id, id, 'open', 'inbox', 'Open', 0 from boards;
    insert into ideas (account_id, board_id, status_id, author_id, title, body, moderation_state)
      select s.account_id, s.board_id, s.id, u.id, t.title, 'Its body.', t.state
      from statuses s, users u, (
        select case n % 3 when 0 then 'Plain title ' else 'Import/export ' end || n as title,
          case when n % 50 = 1 then 'pending' else 'published' end as state
        from generate_series(1, 2100) n
      ) t;`);
  const others = `select account_id, id, title, body, moderation_state, created_at, updated_at from ideas order by account_id, id`;
  const [before, plain] = [
    await rows(others),
    await rows(`select id, xmin from ideas where title like 'Plain%' order by id`),
  ];

  await migrate(url);
  expect(await rows(others)).toEqual(before);
  // The migrations do not write the rows whose words stay the same.
  expect(await rows(`select id, xmin from ideas where title like 'Plain%' order by id`)).toEqual(plain);
  expect(await rows('select id from ideas where title_words <> search_words(title)')).toEqual([]);
  expect(
    await rows(`
      select account_id, count(*)::int from ideas where title_words @@ words_query('export') group by 1 order by 1`),
  ).toMatchObject([{ count: 1_400 }, { count: 1_400 }]);
  expect(
    await rows(`
      select i.id from ideas i join idea_terms t on t.account_id = i.account_id and t.idea_id = i.id
      where t.terms <> case when i.moderation_state = 'published'
        then similar_terms(i.board_id, search_words(i.title), i.body) else '' end`),
  ).toEqual([]);
  await client.query(`update ideas set title = 'UI/UX' where id = (select min(id) from ideas)`);
  expect(await rows(`select title from ideas where title_words @@ words_query('ux')`)).toEqual([{ title: 'UI/UX' }]);
});
