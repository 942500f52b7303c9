import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { streamsOf } from '../../server/database/migration-files.ts';
import { migrate } from '../../server/database/migrator.ts';
import { defineExtension, type Extension, type ExtensionDefinition } from '../../server/extensions/extension.ts';
import { loadExtensions } from '../../server/extensions/load-extensions.ts';
import { renewSubscriptions } from '../../server/extensions/subscriptions.ts';
import type { TestDatabase } from '../helpers/database.ts';

/** Returns the path of an extension in the test fixtures. */
export const fixture = (name: string) =>
  fileURLToPath(new URL(`../fixtures/extensions/${name}/extension.ts`, import.meta.url));

export function extensionOf<Settings extends z.ZodObject>(definition: ExtensionDefinition<Settings>): Extension {
  const { name, register, on, tasks, cron } = defineExtension(definition);
  return {
    name,
    migrations: undefined,
    ...(register ? { register } : {}),
    ...(on ? { on } : {}),
    ...(tasks ? { tasks } : {}),
    ...(cron ? { cron } : {}),
  };
}

/** Applies the migrations of extensions and subscribes the extensions to events, as a server does when it starts. */
export async function prepare({ url, database }: TestDatabase, extensions: readonly Extension[]) {
  await migrate(url, streamsOf(extensions));
  await renewSubscriptions(database, extensions);
}

export const formInboxSecret = 'a secret that the form tool knows, too';

/** Loads the example extension form-inbox, which creates ideas on a board. */
export async function loadFormInbox(settings: Record<string, string> = {}): Promise<Extension> {
  const [extension] = await loadExtensions([fixture('form-inbox')], {
    EXT_FORM_INBOX_SECRET: formInboxSecret,
    EXT_FORM_INBOX_ACCOUNT: 'acme',
    EXT_FORM_INBOX_BOARD: 'web-app',
    EXT_FORM_INBOX_AUTHOR: 'ada@example.com',
    ...settings,
  });
  if (!extension) throw new Error('No extension was loaded');
  return extension;
}
