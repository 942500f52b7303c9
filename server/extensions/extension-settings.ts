import type { z } from 'zod';
import { ExtensionError, reasonOf } from './extension-error.ts';

/** Reads the settings of an extension from the environment. An unset variable and an empty one are the same. */
export function readSettings(
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
  throw new ExtensionError(extension, `has wrong settings: ${problems.join('; ')}`);
}

/** EXT_FORM_INBOX_SECRET is the setting SECRET of form-inbox. */
function variableOf(extension: string, key: string): string {
  return `EXT_${extension.replaceAll('-', '_')}_${key}`.toUpperCase();
}
