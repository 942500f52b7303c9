import { type Arguments, query } from '../../database/query.ts';
import type { Administration } from '../administration.ts';
import { revokeToken } from '../tokens/revoke-token.ts';
import { hashOfId } from './records.ts';

/** Starts without an account, because only the grant's token names it. */
const deleteGrant = query('delete_oauth_grant', (db, $: Arguments<{ idHash: Buffer }>) =>
  db
    .with('ended', cte =>
      cte
        .deleteFrom('oauth_records')
        .where('model', '=', 'Grant')
        .where('id_hash', '=', $.idHash)
        .returning('token_id'),
    )
    .selectFrom('ended as e')
    .innerJoin('api_tokens as t', 't.id', 'e.token_id')
    .select(['t.id as token_id', 't.account_id']),
);

const deleteIssued = query('delete_oauth_grant_records', (db, $: Arguments<{ grantId: string }>) =>
  db.deleteFrom('oauth_records').where('grant_id', '=', $.grantId),
);

/** Ends a grant with all that was issued under it, and revokes its token. Returns undefined for an unknown grant. */
export async function endGrant(
  admin: Administration,
  grantId: string,
): Promise<{ tokenId: number; accountId: number } | undefined> {
  const [ended] = await admin.query(deleteGrant, { idHash: hashOfId(grantId) });
  await admin.query(deleteIssued, { grantId });
  if (!ended) return undefined;
  await revokeToken(admin, ended.account_id, ended.token_id);
  return { tokenId: ended.token_id, accountId: ended.account_id };
}
