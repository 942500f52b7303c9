import { createHash } from 'node:crypto';
import type { Adapter } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { findRecord, type OauthPayload, removeRecord, storeRecord, storeUnderGrant } from '../domain/oauth/records.ts';
import type { Redemption } from '../domain/oauth/redeem.ts';
import { unusedClientSeconds, usedClientSeconds } from './lifetimes.ts';

interface AdapterOptions extends Pick<ServerDependencies, 'database' | 'clock'> {
  endGrant(grantId: string): Promise<void>;
  /** The changes of the current token request, which are stored with its answer. Undefined for other requests. */
  redemptionOf(): Redemption | undefined;
  asksForAnother(resource: unknown): boolean;
  refusals: {
    grantEnded(): Error;
    /** For an authorization request that has redirected to its client before. */
    alreadyResumed(): Error;
  };
}

/** Stores the records of the provider in oauth_records, so that each server can continue the requests of another. */
export function buildAdapter({
  database,
  clock,
  endGrant,
  redemptionOf,
  asksForAnother,
  refusals,
}: AdapterOptions): (model: string) => Adapter {
  return model => {
    // Only the sessions of the pages sign people in. The provider's own sessions are never stored.
    if (model === 'Session') return noRecords;

    return {
      ...noRecords,

      async upsert(id, { jti: _, ...payload }, expiresInSeconds = unusedClientSeconds) {
        const now = clock.now();
        const expiresAt = after(now, expiresInSeconds);
        const { grantId, clientId } = payload;
        if (typeof grantId !== 'string') {
          await storeRecord(database, { model, id, payload: withHashedSecret(model, payload), now, expiresAt });
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
        // redeem() decides under the lock of the grant whether a refresh token may be redeemed again.
        const isJudgedLater =
          model === 'RefreshToken' && redemptionOf() !== undefined && !asksForAnother(record.payload.resource);
        const isConsumed = record.consumedAt !== null && !isJudgedLater;
        return { ...record.payload, jti: id, ...(isConsumed ? { consumed: true } : {}) };
      },

      async consume(id) {
        const redemption = redemptionOf();
        if (!redemption) throw new Error('Only token requests redeem codes and tokens');
        redemption.redeemed.push({ model, id });
      },

      async destroy(id) {
        if (model === 'Grant') return endGrant(id);
        const isRemoved = await removeRecord(database, model, id);
        // It is removed before its code is issued. Of two parallel requests, as from two tabs, only one gets a code.
        if (model === 'Interaction' && !isRemoved) throw refusals.alreadyResumed();
      },
    };
  };
}

async function nothing(): Promise<undefined> {}

const noRecords: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUid: nothing,
  findByUserCode: nothing,
  consume: nothing,
  destroy: nothing,
  // The records of a grant are deleted with it.
  revokeByGrantId: nothing,
};

function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

/** Stores only the hash of a client's secret. compareHashedSecrets compares with it. */
function withHashedSecret(model: string, payload: OauthPayload): OauthPayload {
  const { client_secret: secret } = payload;
  return model === 'Client' && typeof secret === 'string'
    ? { ...payload, client_secret: hashOfClientSecret(secret) }
    : payload;
}

export function hashOfClientSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
