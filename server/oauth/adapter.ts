import { createHash } from 'node:crypto';
import type { Adapter } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { findRecord, type OauthPayload, removeRecord, storeRecord, storeUnderGrant } from '../domain/oauth/records.ts';
import type { Redemption } from '../domain/oauth/redeem.ts';
import { unusedClientSeconds, usedClientSeconds } from './lifetimes.ts';

interface AdapterOptions extends Pick<ServerDependencies, 'database' | 'clock'> {
  /** Ends a grant, and tells why. */
  endGrant(grantId: string): Promise<void>;
  /** What the request for tokens that is being answered changes, which is kept with its answer; none of another request. */
  redemptionOf(): Redemption | undefined;
  /** Whether that request names another resource. */
  asksForAnother(resource: unknown): boolean;
  refusals: {
    /** Of a code whose grant has ended. */
    grantEnded(): Error;
    /** Of the answer to a request that went back to its program already. */
    alreadyResumed(): Error;
  };
}

/** Keeps what the provider keeps in oauth_records, so that any server of several goes on where another one was. */
export function buildAdapter({
  database,
  clock,
  endGrant,
  redemptionOf,
  asksForAnother,
  refusals,
}: AdapterOptions): (model: string) => Adapter {
  return model => {
    // People are signed in by the sessions of the pages, and by nothing else: the provider's own are never found.
    if (model === 'Session') return noRecords;

    return {
      async upsert(id, { jti: _, ...payload }, expiresInSeconds = unusedClientSeconds) {
        const now = clock.now();
        const expiresAt = after(now, expiresInSeconds);
        const { grantId, clientId } = payload;
        if (typeof grantId !== 'string') {
          await storeRecord(database, model, { id, payload: withHashedSecret(model, payload), now, expiresAt });
          return;
        }
        const clientKeptUntil = after(now, usedClientSeconds);
        const record = { model, id, grantId, clientId: String(clientId), payload, now, expiresAt, clientKeptUntil };
        const redemption = redemptionOf();
        if (redemption) {
          redemption.issued.push(record);
          return;
        }
        const isStored = await database.transaction(transaction => storeUnderGrant(transaction, record));
        if (!isStored) throw refusals.grantEnded();
      },

      async find(id) {
        const record = await findRecord(database, model, id, clock.now());
        if (!record) return undefined;
        // Whether a refresh token may be redeemed again is decided under the lock of its grant, by redeem().
        const isJudgedLater =
          model === 'RefreshToken' && redemptionOf() !== undefined && !asksForAnother(record.payload.resource);
        const isConsumed = record.consumedAt !== null && !isJudgedLater;
        return { ...record.payload, jti: id, ...(isConsumed ? { consumed: true } : {}) };
      },

      async consume(id) {
        const redemption = redemptionOf();
        if (!redemption) throw new Error('Requests for tokens alone redeem anything');
        redemption.redeemed.push({ model, id });
      },

      async destroy(id) {
        if (model === 'Grant') return endGrant(id);
        const isRemoved = await removeRecord(database, model, id);
        // It is taken away before its code is made: of two that come back at once, as from two tabs, one is given a code.
        if (model === 'Interaction' && !isRemoved) throw refusals.alreadyResumed();
      },
      // What stands under a grant goes with it, and nothing goes without it.
      async revokeByGrantId() {},
      findByUid: nothing,
      findByUserCode: nothing,
    };
  };
}

async function nothing() {
  return undefined;
}

const noRecords: Adapter = {
  async upsert() {},
  find: nothing,
  findByUid: nothing,
  findByUserCode: nothing,
  async consume() {},
  async destroy() {},
  async revokeByGrantId() {},
};

function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

/** A client is told its secret once, as a token's is; the provider compares by compareClientSecret. */
function withHashedSecret(model: string, payload: OauthPayload): OauthPayload {
  const { client_secret: secret } = payload;
  return model === 'Client' && typeof secret === 'string'
    ? { ...payload, client_secret: hashOfClientSecret(secret) }
    : payload;
}

export function hashOfClientSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
