import type { Queryable } from '../../database/database.ts';
import { consumeRecord, judgeRepetition, type RecordUnderGrant, storeUnderGrant } from './records.ts';

/** The changes of a token request: the code or refresh token that it redeems, and the records that it gets for it. */
export interface Redemption {
  redeemed: { model: string; id: string }[];
  issued: RecordUnderGrant[];
}

type RedemptionRefusal =
  /** The grant has ended, or a parallel request redeemed the code. */
  | 'refused'
  /** The refresh token was used again, too late or after one of its successors: somebody has stolen it. */
  | 'reused'
  /** The refresh token has reached the limit of the refresh tokens that it may issue. */
  | 'too_often';

/** The request redeems and issues nothing. */
export class RedemptionError extends Error {
  override readonly name = 'RedemptionError';
  readonly reason: RedemptionRefusal;

  constructor(reason: RedemptionRefusal) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * How long a refresh token may be redeemed again. Both official MCP SDKs send one refresh for each parallel call that gets
 * 401, and a client whose answer was lost sends its request again.
 */
const leewayMs = 60_000;

/** Several times the parallel calls of the busiest client. Without a limit a client could store any number of tokens. */
const maxSiblings = 32;

/**
 * Stores the issued tokens and marks the redeemed one, in one transaction. So a client whose request failed half way can
 * send it again. Storing comes first because it locks the grant: redemptions under one grant, and its end, wait for each
 * other.
 */
export async function redeem(db: Queryable, { redeemed, issued }: Redemption, now: Date): Promise<void> {
  const parentId = redeemed.find(({ model }) => model === refreshToken)?.id ?? null;
  for (const record of issued) {
    const isStored = await storeUnderGrant(db, record, record.model === refreshToken ? parentId : null);
    if (!isStored) throw new RedemptionError('refused');
  }
  for (const { model, id } of redeemed) {
    if (await consumeRecord(db, model, id, now)) continue;
    if (model !== refreshToken) throw new RedemptionError('refused');
    await checkRepetition(db, id, now);
  }
}

const refreshToken = 'RefreshToken';

/** Each repetition issues a sibling. All siblings stay valid, since a client may keep any of them. */
async function checkRepetition(db: Queryable, id: string, now: Date) {
  const repetition = await judgeRepetition(db, id, new Date(now.getTime() - leewayMs));
  if (!repetition) throw new RedemptionError('refused');
  if (!repetition.is_in_leeway) throw new RedemptionError('reused');
  if (repetition.issued_count > maxSiblings) throw new RedemptionError('too_often');
}
