import { randomBytes } from 'node:crypto';
import argon2 from 'argon2';
import { buildQueue } from '../queue.ts';

export interface PasswordCosts {
  memoryKib: number;
  passes: number;
}

/**
 * The current cost settings of password hashing. OWASP's Password Storage Cheat Sheet lists several equally strong
 * settings for argon2id. These settings need the least memory. Each of Node's four threads keeps this memory after its
 * first computation.
 */
const costs: PasswordCosts = { memoryKib: 7_168, passes: 5 };

/**
 * The maximum number of parallel hash computations. The limit saves memory, and leaves threads for file access and DNS.
 */
const maxRunning = 2;
/** The maximum number of waiting hash computations. Most clients would disconnect before the end of a longer queue. */
const maxWaiting = 100;

interface Verification {
  isRight: boolean;
  /** Whether the password was hashed with other cost settings than the current ones. */
  isOutdated: boolean;
}

export interface Passwords {
  /** Returns the hash as a PHC string of argon2id, which contains the salt and the cost settings. */
  hash(password: string): Promise<string>;
  /**
   * Compares a password with its stored hash. If there is no stored hash, the call takes the same time and reports a
   * wrong password.
   */
  verify(credential: string | undefined, password: string): Promise<Verification>;
}

export function buildPasswords({ memoryKib, passes }: PasswordCosts = costs): Passwords {
  const options = { memoryCost: memoryKib, timeCost: passes, parallelism: 1 };
  const takeTurn = buildQueue({ maxRunning, maxWaiting });
  const hash = (password: string) => argon2.hash(normalize(password), { ...options, type: argon2.argon2id });
  /**
   * The hash of a random secret. `verify` compares with this hash if the user has no password. Every call waits for
   * this hash. Otherwise only the first call for a user without a password would be slower.
   */
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

/** Normalizes a password, because keyboards may encode the same character in different ways (RFC 8265). */
function normalize(password: string): string {
  return password.normalize('NFKC');
}
