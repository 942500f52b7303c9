import type { Queryable } from '../../database/database.ts';
import { consumeRecord, type RecordUnderGrant, storeUnderGrant } from './records.ts';

/** What a request for tokens changes: the code or refresh token that it redeems, and what it is given for it. */
export interface Redemption {
  redeemed: { model: string; id: string }[];
  issued: RecordUnderGrant[];
}

/** The grant has ended, or somebody else redeemed the same before. */
export class RedemptionError extends Error {
  override readonly name = 'RedemptionError';
}

/**
 * Stores what is issued and marks what it is issued for, in one transaction: a program whose request failed on the way can
 * send it again, where half of it would look like the second use of a token and end the grant. First what is issued, since
 * that locks the grant, as whoever ends it does first.
 */
export async function redeem(db: Queryable, { redeemed, issued }: Redemption, now: Date): Promise<void> {
  for (const record of issued) {
    if (!(await storeUnderGrant(db, record))) throw new RedemptionError('The grant has ended');
  }
  for (const { model, id } of redeemed) {
    if (!(await consumeRecord(db, model, id, now))) throw new RedemptionError('It was redeemed already');
  }
}
