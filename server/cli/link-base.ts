import type { Config } from '../config.ts';
import type { QueryBuilding } from '../database/database.ts';
import { readServerAddress } from '../domain/server-address.ts';

/**
 * The origin of links that a command prints: BASE_URL, or else the address of the server that started last. The command
 * may have another HOST and PORT than the server.
 */
export async function findLinkBase(admin: QueryBuilding, config: Config): Promise<Pick<Config, 'BASE_URL'>> {
  const recorded = config.isBaseUrlSet ? undefined : await readServerAddress(admin);
  return { BASE_URL: recorded ?? config.BASE_URL };
}
