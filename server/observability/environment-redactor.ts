import { randomBytes } from 'node:crypto';
import { settings } from '../config.ts';
import { buildRedactor, type Redactor } from './redactor.ts';

/** How the settings of extensions begin. */
const extensionPrefix = 'EXT_';

/**
 * The redactor for what a process says when it cannot go on: perhaps the settings are wrong, and no application key is
 * loaded. What it masks is hashed under a key of the moment, and so can be matched with nothing.
 */
export function buildEnvironmentRedactor(environment: NodeJS.ProcessEnv): Redactor {
  const isSetting = (name: string) => Object.hasOwn(settings.shape, name) || name.startsWith(extensionPrefix);
  const given = Object.entries(environment).filter(([name]) => isSetting(name));
  return buildRedactor({ appKey: randomBytes(32), settings: Object.fromEntries(given) });
}
