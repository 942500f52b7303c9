import { createHash } from 'node:crypto';
import type { Adapter } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import {
  consumeRecord,
  findRecord,
  type OauthPayload,
  removeRecord,
  storeRecord,
  storeUnderGrant,
} from '../domain/oauth/records.ts';
import { unusedClientSeconds, usedClientSeconds } from './lifetimes.ts';

interface AdapterOptions extends Pick<ServerDependencies, 'database' | 'clock'> {
  /** Ends a grant, and tells why. */
  endGrant(grantId: string): Promise<void>;
  /** The refusal of a code or a token that is redeemed or ended already. */
  refuse(description: string): Error;
}

/** Keeps what the provider keeps in oauth_records, so that any server of several goes on where another one was. */
export function buildAdapter({ database, clock, endGrant, refuse }: AdapterOptions): (model: string) => Adapter {
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
        const isStored = await storeUnderGrant(database, model, {
          id,
          grantId,
          clientId: String(clientId),
          payload,
          now,
          expiresAt,
          clientKeptUntil: after(now, usedClientSeconds),
        });
        if (!isStored) throw refuse('the grant has ended');
      },

      async find(id) {
        const record = await findRecord(database, model, id, clock.now());
        return record && { ...record.payload, jti: id, ...(record.consumedAt ? { consumed: true } : {}) };
      },

      async consume(id) {
        if (!(await consumeRecord(database, model, id, clock.now()))) throw refuse('it was redeemed already');
      },

      destroy: id => (model === 'Grant' ? endGrant(id) : removeRecord(database, model, id)),
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
