import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { administrationIn } from '../domain/administration.ts';
import { endGrant } from '../domain/oauth/grants.ts';
import type { AuditEntries } from '../observability/audit-entries.ts';
import { clientOf } from './call-provider.ts';

/**
 * Revokes a grant if the client asks for it, or if somebody uses a code or a replaced refresh token again. In the
 * second case, a thief may have stolen the code or token. The server cannot tell the thief from the client, so it
 * revokes the tokens of both.
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

function reasonOf({ oidc }: Context): AuditEntries['oauth.grant_ended']['reason'] {
  if (oidc.route === 'revocation') return 'revoked_by_client';
  return oidc.params?.grant_type === 'refresh_token' ? 'refresh_token_reused' : 'code_reused';
}
