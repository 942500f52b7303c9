import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../server/database/migrator.ts';
import { connect, createBareDatabase } from '../helpers/database.ts';
import { migrationsBefore } from '../helpers/migrations.ts';

test('an upgrade with migration 0010 revokes the OAuth tokens of former and blocked members, and no other tokens', async () => {
  const { url, drop } = await createBareDatabase();
  onTestFinished(drop);
  await migrate(url, [await migrationsBefore('0010')]);
  const client = await connect(url);
  await client.query(`
    insert into accounts (slug, name) values ('acme', 'Acme');
    insert into users (email, name) select who || '@example.com', who from unnest(array['member', 'blocked', 'gone']) who;
    insert into memberships (account_id, user_id, role)
      select a.id, u.id, 'admin' from accounts a, users u where u.name in ('member', 'blocked');
    insert into user_blocks (account_id, user_id) select a.id, u.id from accounts a, users u where u.name = 'blocked';
    with made as (
      select u.id as user_id, u.name, kind, a.id as account_id,
        nextval(pg_get_serial_sequence('voters', 'id')) as voter_id
      from accounts a, users u, unnest(array['api', 'oauth']) kind
    ), voted as (
      insert into voters (id, account_id) overriding system value select voter_id, account_id from made
    )
    insert into api_tokens (account_id, issuer_id, voter_id, kind, name, secret_hash)
      select account_id, user_id, voter_id, kind, name, sha256(name::bytea) from made;`);

  await migrate(url);
  const { rows } = await client.query(
    'select name, kind from api_tokens where revoked_at is not null order by name, kind',
  );
  await client.end();
  expect(rows).toEqual([
    { name: 'blocked', kind: 'oauth' },
    { name: 'gone', kind: 'oauth' },
  ]);
});
