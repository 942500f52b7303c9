import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { inTime } from '../database/in-time.ts';
import { type Extension, type ExtensionDefinition, isExtension } from './extension.ts';
import { ExtensionError, reasonOf } from './extension-error.ts';
import { queriesOn } from './operations.ts';

const importTimeoutMs = 10_000;

/**
 * Loads the modules that the setting EXTENSIONS lists: paths relative to the working directory, and installed packages.
 * If `environment` is undefined, the function does not read the settings of the extensions, because migrations need no
 * settings. It throws an error if a module cannot be used.
 */
export async function loadExtensions(
  modules: readonly string[],
  environment?: NodeJS.ProcessEnv,
): Promise<readonly Extension[]> {
  const extensions: Extension[] = [];
  for (const module of modules) {
    const definition = await importDefinition(module);
    if (extensions.some(({ name }) => name === definition.name)) {
      throw new ExtensionError(definition.name, 'is in EXTENSIONS twice, or another has the same name');
    }
    extensions.push(buildExtension(definition, environment));
  }
  return extensions;
}

async function importDefinition(module: string): Promise<ExtensionDefinition> {
  const path = resolve(module);
  const specifier = existsSync(path) ? pathToFileURL(path).href : module;
  let loaded: { default?: unknown };
  try {
    loaded = await inTime(import(specifier), importTimeoutMs, 'its module');
  } catch (error) {
    if (error instanceof ExtensionError) throw error;
    throw new ExtensionError(module, `cannot be loaded: ${reasonOf(error)}`, { cause: error });
  }
  if (isExtension(loaded.default)) return loaded.default;
  throw new ExtensionError(
    module,
    'cannot be used: its default export is not a result of defineExtension() of this server',
  );
}

function buildExtension(definition: ExtensionDefinition, environment: NodeJS.ProcessEnv | undefined): Extension {
  const { name, migrations, settings, eraseUser, ...rest } = definition;
  return {
    ...rest,
    name,
    migrations: migrations === undefined ? undefined : { name, directory: directoryOf(migrations) },
    ...(environment ? { settings: readSettings(name, settings, environment) } : {}),
    ...(eraseUser ? { eraseUser: (transaction, userId) => eraseUser(queriesOn(transaction), userId) } : {}),
  };
}

function directoryOf(migrations: URL | string): string {
  return migrations instanceof URL ? fileURLToPath(migrations) : resolve(migrations);
}

/** Reads the settings of an extension from the environment. An empty variable counts as unset. */
function readSettings(
  extension: string,
  schema: z.ZodObject | undefined,
  environment: NodeJS.ProcessEnv,
): Record<string, unknown> {
  if (!schema) return {};
  const given = Object.keys(schema.shape).map(key => [key, environment[variableOf(extension, key)]] as const);
  const { data, error } = schema.safeParse(
    Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== '')),
  );
  if (!error) return data;
  const problems = error.issues.map(({ path, message }) =>
    `${variableOf(extension, path.map(String).join('_'))} ${reasonOf(message)}`.trim(),
  );
  throw new ExtensionError(extension, `has invalid settings: ${problems.join('; ')}`);
}

/** Returns the variable of a setting: EXT_FORM_INBOX_SECRET for the setting SECRET of form-inbox. */
function variableOf(extension: string, key: string): string {
  return `EXT_${extension.replaceAll('-', '_')}_${key}`.toUpperCase();
}
