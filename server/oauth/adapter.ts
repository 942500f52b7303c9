import { createHash } from 'node:crypto';
import type { Adapter } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { findRecord, type OauthPayload, removeRecord, storeRecord, storeUnderGrant } from '../domain/oauth/records.ts';
import type { Redemption } from '../domain/oauth/redeem.ts';
import { unusedClientSeconds, usedClientSeconds } from './lifetimes.ts';

interface AdapterOptions extends Pick<ServerDependencies, 'database' | 'clock'> {
  endGrant(grantId: string): Promise<void>;
  /**
   * The code or refresh token that the current token request redeems, and the tokens that this request issues.
   * Undefined if the current request is not a token request.
   */
  redemptionOf(): Redemption | undefined;
  asksForAnother(resource: unknown): boolean;
  refusals: {
    grantEnded(): Error;
    /** The error for an authorization request that has already been answered with a redirect to its client. */
    alreadyResumed(): Error;
  };
}

/** Stores oidc-provider's records in the table oauth_records, so that all server processes can read them. */
export function buildAdapter({
  database,
  clock,
  endGrant,
  redemptionOf,
  asksForAnother,
  refusals,
}: AdapterOptions): (model: string) => Adapter {
  return model => {
    // oidc-provider's own sessions are never stored, because people sign in with the sessions of the admin area.
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
        // Does not yet report a redeemed refresh token as consumed, because a parallel request may redeem it again.
        // redeem() later decides, with the grant locked, whether this is allowed.
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
        // Throws if another tab has already continued this interaction (a pending authorization request). oidc-provider
        // removes the interaction before it issues the code, so only one tab gets a code.
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
  // Does nothing, because endGrant() already deletes the records together with their grant.
  revokeByGrantId: nothing,
};

function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

/** Replaces a client's secret by its hash before the client is stored. compareHashedSecrets compares the hashes. */
function withHashedSecret(model: string, payload: OauthPayload): OauthPayload {
  const { client_secret: secret } = payload;
  return model === 'Client' && typeof secret === 'string'
    ? { ...payload, client_secret: hashOfClientSecret(secret) }
    : payload;
}

export function hashOfClientSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
