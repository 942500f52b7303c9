import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../server/database/migrator.ts';
import { connect, createBareDatabase } from '../helpers/database.ts';
import { migrationsBefore } from '../helpers/migrations.ts';

test('an upgrade with migration 0034 gives each webhook without chosen event types the six types that it already received, and changes no other webhook', async () => {
  const { url, drop } = await createBareDatabase();
  onTestFinished(drop);
  await migrate(url, [await migrationsBefore('0034')]);
  const client = await connect(url);
  await client.query(`
    insert into accounts (slug, name) values ('acme', 'Acme');
    insert into webhook_endpoints (account_id, url, secret, event_types)
      select id, 'https://hooks.example.com', 'x', types::text[]
      from accounts, (values ('{}'), ('{idea.created}')) chosen (types);`);

  await migrate(url);
  const { rows } = await client.query('select event_types from webhook_endpoints order by id');
  await client.end();
  const before = [
    'idea.created',
    'idea.status_changed',
    'idea.merged',
    'idea.unmerged',
    'idea.voted',
    'comment.created',
  ];
  expect(rows).toEqual([{ event_types: before }, { event_types: ['idea.created'] }]);
});
