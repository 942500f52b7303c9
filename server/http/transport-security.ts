import type { Config } from '../config.ts';

/**
 * The value of Strict-Transport-Security, where people reach the server over HTTPS. Over plain HTTP browsers ignore the
 * header, and a browser on localhost must not be locked into HTTPS.
 */
export function transportSecurityOf({ BASE_URL }: Pick<Config, 'BASE_URL'>): string | undefined {
  return BASE_URL.startsWith('https:') ? 'max-age=31536000' : undefined;
}
