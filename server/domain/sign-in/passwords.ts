import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';

/** What one computation of argon2id costs. */
export interface PasswordCosts {
  memoryKib: number;
  passes: number;
}

/**
 * Of the settings for argon2id in OWASP's Password Storage Cheat Sheet, which are as strong as each other, the one with the
 * least memory: each of Node's four threads keeps what it once had.
 */
const costs: PasswordCosts = { memoryKib: 7_168, passes: 5 };

/** At once, so that a flood takes neither the memory nor the threads that files and host names are waited for with. */
const maxRunning = 2;
/** Beyond those that wait a few seconds would have passed, and whoever waits has most likely gone. */
const maxWaiting = 100;

interface Verification {
  isRight: boolean;
  /** It was hashed with other costs than those of now. */
  isOutdated: boolean;
}

/** Makes what is kept of passwords, and compares with it. */
export interface Passwords {
  /** The PHC string of argon2id, with its salt and costs. */
  hash(password: string): Promise<string>;
  /** Takes as long where there is nothing to compare with, and is wrong then. */
  verify(credential: string | undefined, password: string): Promise<Verification>;
}

/** So many passwords are compared already that another would have to wait for too long. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError';
}

export function buildPasswords({ memoryKib, passes }: PasswordCosts = costs): Passwords {
  const options = { memoryCost: memoryKib, timeCost: passes, parallelism: 1 };
  const takeTurn = buildTurns();
  const hash = (password: string) => argon2.hash(normalize(password), { ...options, type: argon2.argon2id });
  /** Of no password. Everybody waits for it, so that the first who needs it does not take longer than others. */
  let decoy: Promise<string> | undefined;

  return {
    hash: password => takeTurn(() => hash(password)),
    async verify(credential, password) {
      decoy ??= hash(randomBytes(32).toString('base64url')).catch(error => {
        decoy = undefined;
        throw error;
      });
      const known = await decoy;
      const isRight = await takeTurn(() => argon2.verify(credential ?? known, normalize(password)));
      return {
        isRight: isRight && credential !== undefined,
        isOutdated: credential !== undefined && argon2.needsRehash(credential, options),
      };
    },
  };
}

/** One character may be typed as several on another keyboard: they are the same password (RFC 8265). */
function normalize(password: string): string {
  return password.normalize('NFKC');
}

function buildTurns() {
  let running = 0;
  const waiting: (() => void)[] = [];

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= maxWaiting) throw new PasswordsBusyError('Too many passwords wait to be compared');
    if (running < maxRunning) running++;
    // Whoever ends hands its turn over.
    else await new Promise<void>(resolve => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
