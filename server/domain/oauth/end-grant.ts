import { statement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';
import { revokeToken } from '../tokens/revoke-token.ts';
import { hashOfId } from './records.ts';

const deleteGrant = statement<{ token_id: number; account_id: number }>(
  'delete_oauth_grant',
  `with ended as (delete from oauth_records where model = 'Grant' and id_hash = $1 returning token_id)
  select t.id as token_id, t.account_id from ended e join api_tokens t on t.id = e.token_id`,
);

const deleteIssued = statement<never>('delete_oauth_grant_records', 'delete from oauth_records where grant_id = $1');

/** Ends a grant with all that was issued under it, and revokes its token. Answers which it was, where it was there. */
export async function endGrant(
  admin: Administration,
  grantId: string,
): Promise<{ tokenId: number; accountId: number } | undefined> {
  const [ended] = await admin.query(deleteGrant, [hashOfId(grantId)]);
  await admin.query(deleteIssued, [grantId]);
  if (!ended) return undefined;
  await revokeToken(admin, ended.account_id, ended.token_id);
  return { tokenId: ended.token_id, accountId: ended.account_id };
}
