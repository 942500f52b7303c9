import type { ErasureResult } from '../../../server/domain/erasure/batches.ts';
import { type CleanUpOptions, cleanUp } from '../../../server/domain/erasure/clean-up.ts';
import type { TestDatabase } from '../../helpers/database.ts';

const graces = { ACCOUNT_DELETION_GRACE_DAYS: 30, USER_DELETION_GRACE_HOURS: 48 };

/** What a clean-up told of. */
export interface Told {
  isAlone: boolean;
  accounts: ErasureResult[];
  users: ErasureResult[];
  held: { id: number; heldBy: string[] }[];
  failed: { what: string; id: number; error: unknown }[];
}

/** Runs a clean-up with the graces of the specification. */
export async function runCleanUp(
  { database }: Pick<TestDatabase, 'database'>,
  options: Partial<CleanUpOptions> = {},
): Promise<Told> {
  const told: Told = { isAlone: false, accounts: [], users: [], held: [], failed: [] };
  told.isAlone = await cleanUp(database, {
    graces,
    now: new Date(),
    erasers: [],
    audit: { accountErased: async () => {}, userErased: async () => {} },
    witness: {
      accountErased: account => told.accounts.push(account),
      userErased: user => told.users.push(user),
      userHeld: (id, heldBy) => told.held.push({ id, heldBy }),
      failed: (what, id, error) => told.failed.push({ what, id, error }),
    },
    ...options,
  });
  return told;
}
