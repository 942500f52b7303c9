import type { ExpressionBuilder } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Tables } from '../../database/tables.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';

export type TokenListing = Awaited<ReturnType<typeof listTokens>>[number];

function tokensOf({ db }: Administration, accountId: number) {
  return db.selectFrom('api_tokens as t').selectAll().where('t.account_id', '=', accountId);
}

function listingOf({ db, now }: Administration, accountId: number, tokens: ReturnType<typeof tokensOf>) {
  return db
    .selectFrom(tokens.as('t'))
    .innerJoin('users as u', 'u.id', 't.issuer_id')
    .select(t => [
      't.id',
      't.name',
      't.kind',
      't.capabilities',
      jsonArrayFrom(
        t
          .selectFrom('api_token_boards as tb')
          .innerJoin('boards as b', join => join.onRef('b.id', '=', 'tb.board_id').on('b.account_id', '=', accountId))
          .select(['b.slug', 'tb.level'])
          .where('tb.account_id', '=', accountId)
          .whereRef('tb.token_id', '=', 't.id')
          .orderBy('b.slug'),
      ).as('boards'),
      'u.email as issuer',
      t
        .case()
        .when('t.revoked_at', 'is not', null)
        .then('revoked')
        .when('t.expires_at', '<=', now.toISOString())
        .then('expired')
        .else('active')
        .end()
        .$castTo<'active' | 'expired' | 'revoked'>()
        .as('state'),
      't.last_used_at',
      't.last_used_network',
      't.last_used_client',
      t
        .case()
        .when('t.previous_secret_expires_at', '>', now.toISOString())
        .then(t.ref('t.previous_secret_expires_at'))
        .end()
        .as('old_secret_expires_at'),
      't.read_limit',
      't.write_limit',
      't.allowed_networks',
      't.expires_at',
      't.revoked_at',
      't.created_at',
    ]);
}

/** Lists all tokens of an account, including revoked tokens and the tokens of OAuth grants. */
export function listTokens(admin: Administration, accountId: number) {
  return listingOf(admin, accountId, tokensOf(admin, accountId)).orderBy('t.id').execute();
}

/**
 * Lists active tokens first, and then expired and revoked tokens. In each of these two groups, the newest token comes
 * first.
 */
export async function listTokenPage(
  admin: Administration,
  accountId: number,
  { limit, offset }: { limit: number; offset: number },
): Promise<FirstRows<TokenListing>> {
  const isOver = (t: ExpressionBuilder<{ t: Tables['api_tokens'] }, 't'>) =>
    t.or([
      t('t.revoked_at', 'is not', null),
      t.fn.coalesce(t('t.expires_at', '<=', admin.now.toISOString()), t.lit(false)),
    ]);
  // The query looks up boards and issuers only for the tokens of this page.
  const page = tokensOf(admin, accountId)
    .orderBy(isOver)
    .orderBy('t.id', 'desc')
    .limit(limit + 1)
    .offset(offset);
  return cutRows(await listingOf(admin, accountId, page).orderBy(isOver).orderBy('t.id', 'desc').execute(), limit);
}

export function readToken(admin: Administration, accountId: number, tokenId: number): Promise<TokenListing> {
  const token = tokensOf(admin, accountId).where('t.id', '=', tokenId);
  return listingOf(admin, accountId, token).executeTakeFirstOrThrow(
    () => new AdministrationError('not_found', t('refusals.token.unknown', { id: tokenId })),
  );
}
