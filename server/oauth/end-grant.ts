import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { administrationIn } from '../domain/administration.ts';
import { endGrant } from '../domain/oauth/grants.ts';
import type { AuditEvents } from '../observability/audit-events.ts';
import { clientOf } from './exchange.ts';

/**
 * Ends a grant because of what a client did. When a code or a refresh token is reused, one of its two users is not the
 * client. The server cannot tell which one, so neither keeps anything.
 */
export function grantEnder({
  audit,
  clock,
  database,
}: ServerDependencies): (ctx: Context | undefined, grantId: string) => Promise<void> {
  return async (ctx, grantId) => {
    const ended = await database.transaction(transaction =>
      endGrant(administrationIn(transaction, { audit, actor: { by: 'server' }, now: clock.now() }), grantId),
    );
    if (!ended || !ctx) return;
    audit.record('oauth.grant_ended', {
      ...clientOf(ctx.req),
      reason: reasonOf(ctx),
      account_id: ended.accountId,
      token_id: ended.tokenId,
    });
  };
}

function reasonOf({ oidc }: Context): AuditEvents['oauth.grant_ended']['reason'] {
  if (oidc.route === 'revocation') return 'revoked_by_client';
  return oidc.params?.grant_type === 'refresh_token' ? 'refresh_token_reused' : 'code_reused';
}
