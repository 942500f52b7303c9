import { type Arguments, query } from '../../database/query.ts';
import type { Administration } from '../administration.ts';
import { revokeToken } from '../tokens/revoke-token.ts';
import { hashOfId } from './records.ts';

/** Finds the grant by its hash. It names its account. */
const deleteGrant = query('delete_oauth_grant', (db, $: Arguments<{ idHash: Buffer }>) =>
  db
    .deleteFrom('oauth_records')
    .where('model', '=', 'Grant')
    .where('id_hash', '=', $.idHash)
    .returning(['token_id', 'account_id']),
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
  if (ended?.token_id == null || ended.account_id == null) return undefined;
  const { token_id: tokenId, account_id: accountId } = ended;
  await revokeToken(admin, accountId, tokenId);
  return { tokenId, accountId };
}
