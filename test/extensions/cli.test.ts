import { expect, test } from 'vitest';
import { cliOn, runCli } from '../cli/run-cli.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { fixture, formInboxSecret } from './with-extensions.ts';

const pending = [{ stream: 'form-inbox', name: '0001_submissions.sql' }];

const db = await createDatabaseForFile();

test('the CLI can apply the migrations of an extension even if the settings of the extension are missing', async () => {
  const cli = cliOn(db.url, { EXTENSIONS: fixture('form-inbox') });
  expect(await cli.json('migrate', '--dry-run')).toEqual({ pending });
  expect(await cli.run('migrate', '--dry-run')).toMatchObject({ exitCode: 0 });
  expect(await cli.run('migrate', '--check', '--json')).toMatchObject({ exitCode: 1 });
  expect(await cli.refusal('account', 'list')).toMatch(/^The database has 1 pending migration/);
  expect(await cliOn(db.url).json('account', 'list')).toEqual([]);

  expect(await cli.json('migrate')).toEqual({ applied: pending });
  expect(await cli.json('migrate', '--dry-run')).toEqual({ pending: [] });
  expect(await cli.run('migrate', '--check')).toMatchObject({ exitCode: 0 });
  expect(await cli.json('account', 'list')).toEqual([]);
});

test('CLI commands refuse a database with an unknown newer migration, unless TOLERATED_MIGRATIONS contains this migration', async () => {
  await db.sql(`insert into schema_migrations (stream, name, checksum) values ('core', '9999_later.sql', 'x')`);
  expect(await cliOn(db.url).refusal('account', 'list')).toContain('core/9999_later.sql');
  const tolerant = cliOn(db.url, { TOLERATED_MIGRATIONS: 'core/9999_later.sql' });
  expect(await tolerant.json('account', 'list')).toEqual([]);
  expect(await tolerant.json('migrate')).toEqual({ applied: [] });
  await db.sql(`delete from schema_migrations where name = '9999_later.sql'`);
});

test('the CLI command `doctor` reports missing modules and settings of extensions, and event subscriptions of extensions that are not loaded', async () => {
  await db.sql(`insert into extension_subscriptions values ('idea.created', 'gone', now())`);
  const problems = async (settings: Record<string, string>) => {
    const { stdout, stderr } = await runCli({ DATABASE_URL: db.url, ...settings }, 'doctor', '--json');
    expect(stderr).toBe('');
    const { findings } = JSON.parse(stdout) as { findings: { level: string; what: string }[] };
    return findings.filter(({ level, what }) => level !== 'ok' && /extension/i.test(what)).map(({ what }) => what);
  };
  const left = 'The extension gone subscribes to events but is not in EXTENSIONS here';
  expect(await problems({ EXTENSIONS: './nowhere.ts' })).toEqual([
    expect.stringMatching(/^The extension \.\/nowhere\.ts cannot be loaded: /),
    left,
  ]);
  const settings = {
    EXTENSIONS: fixture('form-inbox'),
    EXT_FORM_INBOX_SECRET: formInboxSecret,
    EXT_FORM_INBOX_ACCOUNT: 'acme',
    EXT_FORM_INBOX_BOARD: 'web-app',
  };
  expect(await problems(settings)).toEqual([
    'The extension form-inbox has invalid settings: EXT_FORM_INBOX_AUTHOR must be the address of a member',
    left,
  ]);
  await db.sql('delete from extension_subscriptions');
  expect(await problems({ ...settings, EXT_FORM_INBOX_AUTHOR: 'ada@example.com' })).toEqual([]);
});
