import type { Queryable } from '../../database/database.ts';
import { consumeRecord, judgeRepetition, type RecordUnderGrant, storeUnderGrant } from './records.ts';

/** The redeemed authorization code or refresh token, and the tokens that are issued in return. */
export interface Redemption {
  redeemed: { model: string; id: string }[];
  issued: RecordUnderGrant[];
}

type RedemptionRefusal =
  /**
   * The tokens were not stored, because the grant has ended, the refresh token was deleted, or a parallel request has
   * already redeemed the authorization code.
   */
  | 'refused'
  /**
   * The client redeemed the refresh token again too late, or after it had redeemed a refresh token that it got in
   * exchange. Somebody may have stolen the refresh token.
   */
  | 'reused'
  /** The client has already got maxSiblings refresh tokens in exchange for the redeemed refresh token. */
  | 'too_often';

export class RedemptionError extends Error {
  override readonly name = 'RedemptionError';
  readonly reason: RedemptionRefusal;

  constructor(reason: RedemptionRefusal) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * A client may redeem the same refresh token again within this time. The official MCP SDKs send one refresh request for
 * each parallel call that gets HTTP status 401. A client that lost the response also repeats its request.
 */
const leewayMs = 60_000;

/**
 * The maximum number of refresh tokens that a client can get in exchange for one refresh token. This number is several
 * times the number of parallel calls of the busiest client. Without a maximum, a client could store any number of
 * tokens.
 */
const maxSiblings = 32;

/**
 * Stores the issued tokens and marks the code or refresh token as redeemed, in one transaction. If the request fails
 * halfway, the client can repeat the request.
 *
 * The function stores the tokens first, because storing a token also locks the grant. So two redemptions under the same
 * grant run one after the other. A request that ends the grant waits until the redemption is complete.
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

/**
 * Checks whether a refresh token may be redeemed again. Each repetition issues another refresh token. All of these
 * tokens stay valid, because the client may keep any of them.
 */
async function checkRepetition(db: Queryable, id: string, now: Date) {
  const repetition = await judgeRepetition(db, id, new Date(now.getTime() - leewayMs));
  if (!repetition) throw new RedemptionError('refused');
  if (!repetition.is_in_leeway) throw new RedemptionError('reused');
  if (repetition.issued_count > maxSiblings) throw new RedemptionError('too_often');
}
