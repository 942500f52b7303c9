import { sql } from 'kysely';
import type { Grant } from '../../../contract/grants.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { ApiToken } from '../../entities/api-token.ts';
import { OauthRecord } from '../../entities/oauth-record.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { createToken, revokeToken } from '../tokens/change-tokens.ts';
import { hashOfId, type OauthPayload } from './records.ts';

export interface Consent {
  interactionId: string;
  clientName: string;
  accountId: number;
  userId: number;
  boards: { boardId: number; grant: Grant }[];
  grantId: string;
  grantPayload: OauthPayload;
  /**
   * The user's answer on the consent page, in the format that oidc-provider (the library) needs to continue the
   * request.
   */
  result: OauthPayload;
}

/** The API token of a grant expires if the client does not redeem the grant's authorization code within this time. */
const redemptionMs = 5 * 60_000;

/**
 * Stores the OAuth grant and its API token (specification: Token; Authentication, 9). The token is created under the
 * same conditions as other tokens of the account. The same transaction answers the authorization request. Each
 * authorization request can be answered only once.
 */
export async function giveConsent(
  admin: Administration,
  consent: Consent,
  plansWithoutAgentApi: readonly string[],
): Promise<ApiToken> {
  const { accountId, userId, boards, clientName } = consent;
  await answerInteraction(admin, consent);
  const expiresAt = new Date(admin.now.getTime() + redemptionMs);
  const { token } = await createToken(
    admin,
    { accountId, issuerId: userId, name: clientName, boards, expiresAt, kind: 'oauth' },
    plansWithoutAgentApi,
  );
  admin.em.create(OauthRecord, {
    model: 'Grant',
    idHash: hashOfId(consent.grantId),
    payload: consent.grantPayload,
    userId,
    tokenId: token.id,
    accountId,
    createdAt: admin.now,
    expiresAt,
  });
  return token;
}

export async function refuseConsent(
  admin: Administration,
  refusal: Pick<Consent, 'interactionId' | 'userId' | 'result'> & { clientId: string; accountId: number | null },
): Promise<void> {
  await answerInteraction(admin, refusal);
  const { userId, clientId, accountId } = refusal;
  const account = accountId === null ? {} : { account_id: accountId };
  admin.audit.record('oauth.consent_denied', { user_id: userId, client_id: clientId, ...account });
}

/** Matches only an unanswered authorization request. So if a consent form is sent twice, only one grant is created. */
const setResult = query(
  'answer_oauth_interaction',
  (db, $: Arguments<{ idHash: Buffer; result: OauthPayload; now: Date; userId: number }>) =>
    db
      .updateTable('oauth_records')
      .set({
        payload: sql<OauthPayload>`jsonb_set(payload, '{result}', ${$.result})`,
        consumed_at: $.now,
        user_id: $.userId,
      })
      .where(r => r.and({ model: 'Interaction', id_hash: $.idHash, consumed_at: null }))
      .where('expires_at', '>', $.now)
      .returning('model'),
);

async function answerInteraction(
  admin: Administration,
  { interactionId, userId, result }: Pick<Consent, 'interactionId' | 'userId' | 'result'>,
) {
  const answered = await admin.query(setResult, { idHash: hashOfId(interactionId), result, now: admin.now, userId });
  if (answered.length > 0) return;
  throw new AdministrationError('conflict', t('refusals.consent.answered'));
}

/**
 * Deletes a grant by the hash of its id. Searches all accounts, because the caller does not know the account. The
 * returned row contains the account's id.
 */
const deleteGrant = query('delete_oauth_grant', (db, $: Arguments<{ idHash: Buffer }>) =>
  db
    .deleteFrom('oauth_records')
    .where(r => r.and({ model: 'Grant', id_hash: $.idHash }))
    .returning(['token_id', 'account_id']),
);

const deleteIssued = query('delete_oauth_grant_records', (db, $: Arguments<{ grantId: string }>) =>
  db.deleteFrom('oauth_records').where('grant_id', '=', $.grantId),
);

/** Ends a grant with its codes and OAuth tokens, and revokes its API token. Returns undefined for an unknown grant. */
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
