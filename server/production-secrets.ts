import { type Config, ConfigError } from './config.ts';

/** Passwords that examples and images come with, and that are tried first. */
const knownPasswords = new Set(['postgres', 'password', 'passw0rd', 'secret', 'changeme', 'admin', 'example', 'test']);
const minPasswordLength = 12;

/** Random bytes have some 30 different values among 32; a phrase, or one byte again and again, has far fewer. */
const minDifferentBytes = 20;

/**
 * Which secrets are unset or weak, each as a line that names the setting. What is fine on a developer's machine would
 * let strangers in where NODE_ENV is production.
 */
export function findWeakSecrets({ APP_KEY, DATABASE_URL }: Pick<Config, 'APP_KEY' | 'DATABASE_URL'>): string[] {
  const weak = [
    APP_KEY ? weaknessOfKey(APP_KEY) : 'is not set: give 32 random bytes in base64, such as openssl rand -base64 32',
  ].map(weakness => weakness && `APP_KEY ${weakness}`);
  const url = DATABASE_URL === undefined ? 'is not set' : weaknessOfPassword(new URL(DATABASE_URL));
  weak.push(url && `DATABASE_URL ${url}`);
  return weak.filter(line => line !== undefined);
}

/** Refuses to start in production with a secret that is unset or weak. */
export function requireProductionSecrets(config: Config): void {
  if (config.NODE_ENV !== 'production') return;
  const weak = findWeakSecrets(config);
  if (weak.length > 0) throw new ConfigError(`NODE_ENV is production, and ${weak.join('; ')}`);
}

function weaknessOfKey(key: Buffer): string | undefined {
  if (new Set(key).size >= minDifferentBytes) return undefined;
  return 'is not random: make another with openssl rand -base64 32';
}

/** No password at all may be right: a socket, a certificate, PGPASSWORD or a password file then says who this is. */
function weaknessOfPassword(url: URL): string | undefined {
  const password = decodeURIComponent(url.password || (url.searchParams.get('password') ?? ''));
  if (password === '') return undefined;
  if (knownPasswords.has(password.toLowerCase())) return 'has a password that everybody knows';
  if (password === decodeURIComponent(url.username)) return 'has the name of its user as password';
  if (password.length < minPasswordLength) return `has a password of fewer than ${minPasswordLength} characters`;
  return undefined;
}
