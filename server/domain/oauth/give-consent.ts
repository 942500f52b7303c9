import type { Grant } from '../../../contract/grants.ts';
import { statement } from '../../database/statement.ts';
import type { ApiToken } from '../../entities/api-token.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { createToken } from '../tokens/create-token.ts';
import { hashOfId, type OauthPayload } from './records.ts';

/** What somebody agrees to: a client may use some boards in their name. */
export interface Consent {
  /** The request that awaits consent. */
  interactionId: string;
  clientName: string;
  accountId: number;
  userId: number;
  boards: { boardId: number; grant: Grant }[];
  grantId: string;
  grantPayload: OauthPayload;
  /** With what the provider goes on. */
  result: OauthPayload;
}

/**
 * So long the client has to redeem its code. The token is there from the moment of consent, and ends by itself when the
 * client never comes for it.
 */
const redemptionMs = 5 * 60_000;

/**
 * Stores the grant, which is a token of the account (Token; Authentication, 9): under the conditions of any other one, and
 * in one transaction with the answer to the request, which is given once.
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
  await admin.query(insertGrant, [
    hashOfId(consent.grantId),
    JSON.stringify(consent.grantPayload),
    userId,
    token.id,
    admin.now,
    expiresAt,
  ]);
  return token;
}

/** Answers the request with a refusal, of which the client is told. */
export async function refuseConsent(
  admin: Administration,
  refusal: Pick<Consent, 'interactionId' | 'userId' | 'result'> & { clientId: string; accountId: number | null },
): Promise<void> {
  await answerInteraction(admin, refusal);
  const { userId, clientId, accountId } = refusal;
  const account = accountId === null ? {} : { account_id: accountId };
  admin.audit.record('oauth.consent_denied', { user_id: userId, client_id: clientId, ...account });
}

const insertGrant = statement<never>(
  'insert_oauth_grant',
  `insert into oauth_records (model, id_hash, payload, user_id, token_id, created_at, expires_at)
  values ('Grant', $1, $2, $3, $4, $5, $6)`,
);

/** consumed_at is set once: a form that is sent twice makes one grant. */
const setResult = statement<{ model: string }>(
  'answer_oauth_interaction',
  `update oauth_records set payload = jsonb_set(payload, '{result}', $2), consumed_at = $3, user_id = $4
  where model = 'Interaction' and id_hash = $1 and consumed_at is null and expires_at > $3
  returning model`,
);

async function answerInteraction(
  admin: Administration,
  { interactionId, userId, result }: Pick<Consent, 'interactionId' | 'userId' | 'result'>,
) {
  const answered = await admin.query(setResult, [hashOfId(interactionId), JSON.stringify(result), admin.now, userId]);
  if (answered.length > 0) return;
  throw new AdministrationError('conflict', 'This request was answered already. Begin again in the program.');
}
