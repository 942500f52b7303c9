import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import type { TokenListing } from '../../domain/tokens/list-tokens.ts';
import { pathIn } from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';

/** A token as the pages show it. */
export interface ShownToken {
  id: number;
  name: string;
  kind: string;
  boards: { slug: string; level: string }[];
  issuer: string;
  state: { label: string; chip: string };
  created: ShownTime;
  lastUsed?: ShownTime | undefined;
  expires?: ShownTime | undefined;
  /** Undefined where there is nothing to revoke any more. */
  revokePath?: string | undefined;
}

const states: Record<TokenListing['state'], ShownToken['state']> = {
  active: { label: 'Active', chip: 'chip-completed' },
  expired: { label: 'Expired', chip: 'chip-archived' },
  revoked: { label: 'Revoked', chip: 'chip-declined' },
};

export function presentToken(request: FastifyRequest, account: AccountOfUser, token: TokenListing): ShownToken {
  const timeOf = (text: string | null) => (text === null ? undefined : showTime(new Date(text)));
  return {
    id: token.id,
    name: shownName(token.name),
    kind: token.kind === 'oauth' ? 'OAuth' : 'API',
    boards: token.boards,
    // The placeholder has no address.
    issuer: token.issuer ?? 'Deleted user',
    state: states[token.state],
    created: showTime(new Date(token.created_at)),
    lastUsed: timeOf(token.last_used_at),
    expires: timeOf(token.expires_at),
    revokePath: token.state === 'revoked' ? undefined : pathIn(request, account, `/admin/tokens/${token.id}/revoke`),
  };
}
