import { requireAppKey } from '../app-key.ts';
import { loadConfig } from '../config.ts';
import { requireSupportedPostgres } from '../database/server-version.ts';
import { openForCommand, requireCluster, withDatabase } from './administer.ts';
import { argument, verb } from './command.ts';
import { transferTimeoutMs } from './export.ts';
import { formatFacts, print } from './output.ts';

export const addBackupCommand = verb({
  description:
    'Writes a backup of the whole database into a new directory: a dump and a manifest with counts and checksums. Needs pg_dump. Servers may run meanwhile. The backup has personal data, but not APP_KEY: keep that key in another place.',
  examples: ['backup /var/backups/ideas-2026-11-28', 'backup ideas.backup --json'],
  input: { directory: argument('<directory>', 'the new directory') },
  async perform({ directory }, output) {
    // The other commands start faster without the modules of backups.
    const { backUp } = await import('../backup/back-up.ts');
    const config = { ...loadConfig(), DATABASE_STATEMENT_TIMEOUT_MS: transferTimeoutMs };
    await requireCluster(config);
    const manifest = await withDatabase(config, async url => {
      await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
      const appKey = await requireAppKey(config);
      return openForCommand(url, config, database => backUp({ database, url, appKey }, directory));
    });
    print(output, { directory, manifest }, () =>
      formatFacts({
        directory,
        created_at: manifest.created_at,
        bytes: manifest.files[0]?.bytes,
        tables: Object.keys(manifest.tables).length,
        rows: Object.values(manifest.tables).reduce((sum, count) => sum + count, 0),
        app_key_fingerprint: manifest.app_key_fingerprint,
      }),
    );
  },
});
