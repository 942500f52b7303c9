import { expect, onTestFinished, test } from 'vitest';
import { errors } from '../../contract/errors.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { loadServerQueries } from '../helpers/server-queries.ts';

const hasErrorKey = (text: string) => Object.keys(errors).some(key => text.includes(`'${key}'`));

test('cast_vote is the only database function that contains error keys of the API', async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  const functions = await db.sql<{ name: string; source: string }>(`
    select proname as name, pg_get_functiondef(p.oid) as source from pg_proc p
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`);
  const withKeys = functions.filter(({ source }) => hasErrorKey(source)).map(({ name }) => name);
  expect(withKeys).toEqual(['cast_vote']);
});

test('no SQL statement of the server contains an error key of the API', async () => {
  const queries = await loadServerQueries();
  expect(queries.length).toBeGreaterThan(0);
  expect(queries.filter(({ text }) => hasErrorKey(text)).map(({ name }) => name)).toEqual([]);
});
