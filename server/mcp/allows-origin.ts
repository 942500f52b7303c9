import type { Config } from '../config.ts';
import { issuerOf } from '../http/public-addresses.ts';

/**
 * Whether a page of an origin may use the tools. Only browsers name an origin: without this, a page that made its own name
 * lead to a server inside of a network could talk to it from there (DNS rebinding).
 */
export function allowsOrigin(config: Pick<Config, 'BASE_URL' | 'CORS_ORIGINS'>) {
  const allowed = [issuerOf(config), ...config.CORS_ORIGINS];
  return (origin: string | undefined): boolean =>
    origin === undefined || allowed.includes(origin) || allowed.includes('*');
}
