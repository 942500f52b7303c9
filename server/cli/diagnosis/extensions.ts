import type { Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import type { Extension } from '../../extensions/extension.ts';
import { ExtensionError } from '../../extensions/extension-error.ts';
import { loadExtensions } from '../../extensions/load-extensions.ts';
import { error, type Finding, ok, warning } from './finding.ts';

export interface KnownExtensions {
  findings: Finding[];
  /** The extensions that the setting EXTENSIONS names. Empty if these extensions cannot be loaded. */
  extensions: readonly Extension[];
}

/** Checks that a starting server can load the extensions. Registers no extension. */
export async function diagnoseExtensions(
  modules: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<KnownExtensions> {
  if (modules.length === 0) return { findings: [], extensions: [] };
  let extensions: readonly Extension[] = [];
  try {
    extensions = await loadExtensions(modules);
    await loadExtensions(modules, environment);
    const names = extensions.map(({ name }) => name).join(', ');
    return { findings: [ok(`Every extension can be loaded (${names})`)], extensions };
  } catch (failure) {
    if (!(failure instanceof ExtensionError)) throw failure;
    return {
      findings: [error(failure.message, 'Correct it, or remove it from EXTENSIONS; see docs/extensions.md')],
      extensions,
    };
  }
}

/** Finds extensions that still subscribe to events but are missing from the setting EXTENSIONS. */
export async function diagnoseLeftExtensions(db: Kysely<Tables>, extensions: readonly Extension[]): Promise<Finding[]> {
  const names = extensions.map(({ name }) => name);
  const rows = await db
    .selectFrom('extension_subscriptions')
    .select('extension')
    .distinct()
    .where(({ eb, fn, not, val }) => not(eb('extension', '=', fn.any(val(names)))))
    .orderBy('extension')
    .execute();
  return rows.map(({ extension }) =>
    warning(
      `The extension ${extension} subscribes to events but is not in EXTENSIONS here`,
      'Set the same EXTENSIONS for every process. The subscription of a removed extension ends within a day',
    ),
  );
}
