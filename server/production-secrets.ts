import { type Config, ConfigError } from './config.ts';

/** Passwords from examples and container images. Attackers try them first. */
const knownPasswords = new Set(['postgres', 'password', 'passw0rd', 'secret', 'changeme', 'admin', 'example', 'test']);
const minPasswordLength = 12;

/** The minimum number of different bytes in a key. 32 random bytes have about 30, and a phrase has far fewer. */
const minDifferentBytes = 20;

const databaseSettings = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_READ_URL'] as const;

type Secrets = Pick<Config, 'APP_KEY' | (typeof databaseSettings)[number]>;

/** Returns a line of text for each secret that is unset or weak. The line has the name of the setting. */
export function findWeakSecrets({ APP_KEY, ...urls }: Secrets): string[] {
  const key = APP_KEY
    ? weaknessOfKey(APP_KEY)
    : 'is not set: give 32 random bytes in base64, such as openssl rand -base64 32';
  const weaknesses = databaseSettings.map(name => {
    const url = urls[name];
    if (url === undefined) return name === 'DATABASE_URL' ? `${name} is not set` : undefined;
    const weakness = weaknessOfPassword(new URL(url));
    return weakness && `${name} ${weakness}`;
  });
  return [key && `APP_KEY ${key}`, ...weaknesses].filter(line => line !== undefined);
}

export function requireProductionSecrets(config: Config): void {
  if (config.NODE_ENV !== 'production') return;
  const weak = findWeakSecrets(config);
  if (weak.length > 0) throw new ConfigError(`NODE_ENV is production, and ${weak.join('; ')}`);
}

function weaknessOfKey(key: Buffer): string | undefined {
  if (new Set(key).size >= minDifferentBytes) return undefined;
  return 'is not random: make another with openssl rand -base64 32';
}

/**
 * Returns the weakness of the password in a database URL, if any. A URL without a password is valid, because PostgreSQL
 * may use a socket, a certificate, PGPASSWORD or a password file.
 */
function weaknessOfPassword(url: URL): string | undefined {
  const password = decodeURIComponent(url.password || (url.searchParams.get('password') ?? ''));
  if (password === '') return undefined;
  if (knownPasswords.has(password.toLowerCase())) return 'has a well-known password';
  if (password === decodeURIComponent(url.username)) return 'has the name of its user as password';
  if (password.length < minPasswordLength) return `has a password of fewer than ${minPasswordLength} characters`;
  return undefined;
}
