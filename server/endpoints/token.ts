import type { Bucket } from '../../contract/limits.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { presentTime } from '../domain/time.ts';
import { isModerateEffective } from '../http/admit.ts';
import { type BucketState, peek, remainingOf, tokenCounter } from '../http/rate-limit.ts';
import { admissionOf } from '../http/request-context.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function tokenEndpoints(server: ServerDependencies): Pick<Endpoints, 'getToken'> {
  return {
    getToken: async ({ request }) => {
      const { principal } = admissionOf(request);
      const now = server.clock.now();
      const counterOf = (bucket: Bucket) => tokenCounter(bucket, principal, server.config, now);
      const states = await peek(server.database, [counterOf('apitoken:read'), counterOf('apitoken:write')], now);
      const [read, write] = states as [BucketState, BucketState];
      return {
        status: 200,
        body: {
          id: principal.tokenId,
          name: principal.tokenName,
          account: { id: principal.account.id, name: principal.account.name },
          issuer: { id: principal.issuer.id, name: principal.issuer.name },
          boards: principal.boards.map(board => ({
            ...board,
            is_moderate_effective: isModerateEffective(principal, board),
          })),
          capabilities: principal.capabilities,
          expires_at: presentTime(principal.expiresAt),
          secret_expires_at: presentTime(principal.secretExpiresAt),
          buckets: { 'apitoken:read': presentBucket(read), 'apitoken:write': presentBucket(write) },
        },
      };
    },
  };
}

function presentBucket(state: BucketState) {
  return { limit: state.limit, remaining: remainingOf(state), reset: state.resetSeconds };
}
