import type { Grant } from '../../../contract/grants.ts';
import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';

/** A token without anything of its secret. */
export interface TokenListing {
  id: number;
  name: string;
  kind: 'api' | 'oauth';
  boards: { slug: string; level: Grant }[];
  issuer: string | null;
  state: 'active' | 'expired' | 'revoked';
  last_used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

const listing = `select t.id, t.name, t.kind,
    coalesce((
      select json_agg(json_build_object('slug', b.slug, 'level', tb.level) order by b.slug)
      from api_token_boards tb join boards b on b.id = tb.board_id
      where tb.token_id = t.id
    ), '[]') as boards,
    u.email as issuer,
    case when t.revoked_at is not null then 'revoked' when t.expires_at <= $2 then 'expired' else 'active' end as state,
    t.last_used_at, t.expires_at, t.revoked_at, t.created_at`;

const selectTokens = plannedStatement<TokenListing>(`
  ${listing}
  from api_tokens t join users u on u.id = t.issuer_id
  where t.account_id = $1 and ($3::bigint is null or t.id = $3)
  order by t.id`);

const inOrder = `order by t.revoked_at is not null or coalesce(t.expires_at <= $2, false), t.id desc`;

/** Who, where and whether is looked up for the tokens of the page alone. */
const selectTokenPage = plannedStatement<TokenListing>(`
  ${listing}
  from (select t.* from api_tokens t where t.account_id = $1 ${inOrder} limit $3 offset $4) t
    join users u on u.id = t.issuer_id
  ${inOrder}`);

/** Lists the tokens of an account, those of OAuth grants and revoked ones included. */
export function listTokens(admin: Administration, accountId: number): Promise<TokenListing[]> {
  return admin.query(selectTokens, [accountId, admin.now, null]);
}

/** A part of that list in another order: those that work first, and of each the newest first. */
export async function listTokenPage(
  admin: Administration,
  accountId: number,
  { limit, offset }: { limit: number; offset: number },
): Promise<FirstRows<TokenListing>> {
  return cutRows(await admin.query(selectTokenPage, [accountId, admin.now, limit + 1, offset]), limit);
}

export async function readToken(admin: Administration, accountId: number, tokenId: number): Promise<TokenListing> {
  const [token] = await admin.query(selectTokens, [accountId, admin.now, tokenId]);
  if (!token) throw new AdministrationError('not_found', `The account has no token ${tokenId}`);
  return token;
}
