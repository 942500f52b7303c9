import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';

/** The costs of one computation of argon2id. */
export interface PasswordCosts {
  memoryKib: number;
  passes: number;
}

/**
 * OWASP's Password Storage Cheat Sheet lists equally strong settings for argon2id. This one needs the least memory, which
 * each of Node's four threads keeps after its first computation.
 */
const costs: PasswordCosts = { memoryKib: 7_168, passes: 5 };

/** Limits parallel computations, so that a flood leaves memory, and threads for files and host names. */
const maxRunning = 2;
/** A longer queue would take several seconds, and most clients would have gone by then. */
const maxWaiting = 100;

interface Verification {
  isRight: boolean;
  /** Whether the password was hashed with other costs than the current ones. */
  isOutdated: boolean;
}

/** Hashes passwords and compares them with their hashes. */
export interface Passwords {
  /** Returns the PHC string of argon2id, with its salt and costs. */
  hash(password: string): Promise<string>;
  /** Without a credential it takes the same time, and the password is wrong. */
  verify(credential: string | undefined, password: string): Promise<Verification>;
}

/** Too many passwords are already waiting to be compared. */
export class PasswordsBusyError extends Error {
  override readonly name = 'PasswordsBusyError';
}

export function buildPasswords({ memoryKib, passes }: PasswordCosts = costs): Passwords {
  const options = { memoryCost: memoryKib, timeCost: passes, parallelism: 1 };
  const takeTurn = buildTurns();
  const hash = (password: string) => argon2.hash(normalize(password), { ...options, type: argon2.argon2id });
  /** The hash of a random secret. Every call waits for it, so that the first call without a credential is not slower. */
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

/** Keyboards may encode one character in different ways. The password is the same (RFC 8265). */
function normalize(password: string): string {
  return password.normalize('NFKC');
}

function buildTurns() {
  let running = 0;
  const waiting: (() => void)[] = [];

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting.length >= maxWaiting) throw new PasswordsBusyError('Too many passwords wait to be compared');
    if (running < maxRunning) running++;
    // A finished computation hands its turn over.
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
