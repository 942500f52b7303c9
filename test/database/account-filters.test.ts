import { expect, test } from 'vitest';
import { findFilterProblems, findFunctionProblems } from '../helpers/account-filters.ts';

const columns = new Map([
  ['accounts', 'id'],
  ['boards', 'account_id'],
  ['ideas', 'account_id'],
  ['votes', 'account_id'],
]);

const problemsOf = (statement: string) => findFilterProblems(statement, columns);

test.each([
  'select from ideas i where i.account_id = $1 and i.id = $2',
  'select from ideas where $1::bigint = account_id',
  'select from accounts a join ideas i on i.account_id = $1 where a.id = $1',
  'select from ideas i left join votes v on v.idea_id = i.id and v.account_id = $1 where i.account_id = $1',
  'select from votes v right join ideas i on v.idea_id = i.id and v.account_id = $1 where i.account_id = $1',
  'select from users u where exists (select from ideas i where i.account_id = $1 and i.author_id = u.id)',
  'with ideas as (select $1::bigint as id) select from ideas',
  'select from ideas where account_id = $1 union select from votes where account_id = $1',
  'select from ideas i where i.account_id = $1 for no key update of i',
  'insert into votes (idea_id, account_id) values ($1, $2), ($3, $2)',
  'insert into votes (account_id) select i.account_id from ideas i where i.account_id = $1',
  'insert into votes (account_id, idea_id) values ($1, $2) on conflict (account_id, idea_id) do nothing',
  'insert into votes (account_id, idea_id) values ($1, $2) on conflict do nothing',
  `insert into accounts (slug) values ('tidewater')`,
  'update ideas i set score = 1 from votes v where v.idea_id = i.id and v.account_id = $1 and i.account_id = $1',
  'delete from votes v using ideas i where i.id = v.idea_id and i.account_id = $1 and v.account_id = $1',
  'select count(*) from users',
])(
  'findFilterProblems() accepts an SQL statement that limits its tenant tables to one account, creates an account or uses no tenant table: %s',
  async statement => {
    expect(await problemsOf(statement)).toEqual([]);
  },
);

test.each([
  ['select from ideas where id = $1', ['has no filter ideas.account_id']],
  [
    'insert into votes (account_id, idea_id) values ($1, $2) on conflict (idea_id) do nothing',
    ['has a conflict target on votes without account_id'],
  ],
  ['select from ideas i where i.account_id = 1', ['has no filter i.account_id']],
  ['select from ideas i where i.account_id = $1 or i.id = $2', ['has no filter i.account_id']],
  ['select from ideas i where not (i.account_id = $1)', ['has no filter i.account_id']],
  ['select from ideas i where i.account_id <> $1', ['has no filter i.account_id']],
  ['select from accounts a where a.account_id = $1', ['has no filter a.id']],
  [
    'select from ideas i join votes v on v.account_id = i.account_id where i.account_id = $1',
    ['has no filter v.account_id'],
  ],
  ['select from ideas i left join votes v on v.account_id = $1 and i.account_id = $1', ['has no filter i.account_id']],
  [
    'select from ideas i full join votes v on v.account_id = $1 and i.account_id = $1',
    ['has no filter i.account_id', 'has no filter v.account_id'],
  ],
  [
    'select from ideas i where i.account_id = $1 and exists (select from votes v where i.account_id = $1)',
    ['has no filter v.account_id'],
  ],
  ['with v as (select from votes) select from v where account_id = $1', ['has no filter votes.account_id']],
  ['with ideas as (select from ideas) select from ideas', ['has no filter ideas.account_id']],
  [
    'select (select count(*) from ideas) from (select from votes) v, lateral (select from boards) b',
    ['has no filter votes.account_id', 'has no filter boards.account_id', 'has no filter ideas.account_id'],
  ],
  ['select from ideas union select from votes where account_id = $1', ['has no filter ideas.account_id']],
  [
    'with gone as (delete from votes where idea_id = $1 returning 1) update ideas set score = 1',
    ['has no filter votes.account_id', 'has no filter ideas.account_id'],
  ],
  [
    'merge into votes v using ideas i on v.idea_id = i.id and i.account_id = $1 when matched then delete',
    ['has no filter v.account_id'],
  ],
  ['insert into votes (idea_id) values ($1)', ['inserts into votes without account_id']],
  ['insert into votes default values', ['inserts into votes without account_id']],
  [
    'select from ideas i join boards b on b.account_id = $2 where i.account_id = $1',
    ['compares accounts with $1 and $2'],
  ],
  [
    'insert into votes (idea_id, account_id) select $2, $3 from ideas i where i.account_id = $1',
    ['compares accounts with $3 and $1'],
  ],
  ['insert into votes (account_id) values ($1), ($2)', ['compares accounts with $1 and $2']],
])(
  'findFilterProblems() reports an SQL statement that does not limit every tenant table to one and the same account argument: %s',
  async (statement, problems) => {
    expect((await problemsOf(statement)).sort()).toEqual([...problems].sort());
  },
);

test('findFilterProblems() throws an error for a kind of SQL statement that it cannot check', async () => {
  await expect(problemsOf('lock table ideas')).rejects.toThrow('Cannot check');
});

const functionProblemsOf = (language: string, body: string) =>
  findFunctionProblems(
    `create function test(p_account_id bigint, p_id bigint, out v_id bigint) language ${language} ${body}`,
    columns,
  );

test('findFunctionProblems() accepts an SQL function that filters by its account parameter, and reports a missing filter or a further filter by another parameter', async () => {
  const filtered = 'select i.id from ideas i where i.account_id = p_account_id';
  const qualified = 'select i.id from ideas i where i.account_id = test.p_account_id';
  const unfiltered = 'select i.id from ideas i where i.id = p_id and i.account_id = v_id';
  const other = 'select i.id from ideas i where i.account_id = p_id';
  for (const inSql of [(sql: string) => `as $$ ${sql} $$`, (sql: string) => `begin atomic ${sql}; end`]) {
    expect(await functionProblemsOf('sql', inSql(filtered))).toEqual([]);
    expect(await functionProblemsOf('sql', inSql(`${filtered} union ${qualified}`))).toEqual([]);
    expect(await functionProblemsOf('sql', inSql(unfiltered))).toEqual(['has no filter i.account_id']);
  }
  expect(await functionProblemsOf('sql', `return (${unfiltered})`)).toEqual(['has no filter i.account_id']);
  expect(await functionProblemsOf('sql', `as $$ ${filtered}; ${other} $$`)).toEqual([
    'compares accounts with p_account_id and p_id',
  ]);
});

test.each([
  'v_id := (select id from ideas);',
  'select id into v_id from ideas;',
  'perform id from ideas;',
  'if exists (select from ideas) then return; end if;',
  'if p_id = 1 then return; elsif exists (select from ideas) then return; else return; end if;',
  'case when exists (select from ideas) then return; end case;',
  'while exists (select from ideas) loop return; end loop;',
  'for v_id in select id from ideas loop return; end loop;',
  'for i in 1 .. (select count(*) from ideas) loop return; end loop;',
  'foreach v_id in array array(select id from ideas) loop return; end loop;',
  'begin return; exception when others then delete from ideas; end;',
  'begin delete from ideas; exception when others then null; end;',
  `raise notice '%', (select id from ideas);`,
  'assert exists (select from ideas);',
  'declare c cursor for select id from ideas; begin return; end;',
])(
  'findFunctionProblems() finds a statement without an account filter inside the PL/pgSQL construct %s',
  async place => {
    const problems = await functionProblemsOf('plpgsql', `as $$ begin ${place} end $$`);
    expect(problems).toEqual(['has no filter ideas.account_id']);
  },
);

test.each([
  `begin execute 'delete from ideas'; end`,
  `declare r record; begin for r in execute 'select from ideas' loop return; end loop; end`,
  `declare c refcursor; begin open c for execute 'select from ideas'; end`,
])('findFunctionProblems() reports a PL/pgSQL function with dynamic SQL: %s', async block => {
  const problems = await functionProblemsOf('plpgsql', `as $$ ${block} $$`);
  expect(problems).toEqual(['executes dynamic SQL, which nothing checks']);
});

test('findFunctionProblems() throws an error for a database function written in C', async () => {
  await expect(functionProblemsOf('c', `as 'library'`)).rejects.toThrow('written in c');
});
