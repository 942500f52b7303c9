import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { Identity } from '../../entities/identity.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, explainViolations } from '../administration.ts';
import { isBlocked } from '../members/authority.ts';

/**
 * The fields that identify an external identity: a person at an identity provider, or in the application that embeds
 * the boards.
 */
export interface OneIdentity {
  accountId: number;
  /** The provider of the identity. Null if the identity comes from the application that embeds the account's boards. */
  providerId: number | null;
  /** The id of the person at the provider. It never changes. */
  subject: string;
}

const selectIdentity = query('select_identity', (db, $: Arguments<OneIdentity>) =>
  db
    .selectFrom('identities as i')
    .leftJoin('memberships as m', join =>
      join.on('m.account_id', '=', $.accountId).onRef('m.user_id', '=', 'i.user_id'),
    )
    .select(i => [
      'i.id',
      'i.user_id',
      i('m.user_id', 'is not', null).$castTo<boolean>().as('is_member'),
      isBlocked($.accountId, i.ref('i.user_id')).as('is_blocked'),
    ])
    .where('i.account_id', '=', $.accountId)
    .where('i.subject', '=', $.subject)
    // `coalesce` is used here exactly as in the unique index of the table, so that PostgreSQL uses the index.
    .where(i => i(i.fn.coalesce('i.provider_id', i.lit(0)), '=', i.fn.coalesce($.providerId, i.lit(0)))),
);

/**
 * An external identity (a person at a provider), and whether its user is a member of the account or is blocked there.
 */
export type KnownIdentity = RowOf<typeof selectIdentity>;

export async function findIdentity(
  admin: Administration,
  { accountId, providerId, subject }: OneIdentity,
): Promise<KnownIdentity | undefined> {
  const [known] = await admin.query(selectIdentity, { accountId, providerId, subject });
  return known;
}

/** Stores a new external identity (a person at a provider), and returns its id. The caller has locked the account. */
export async function insertIdentity(
  admin: Administration,
  { accountId, providerId, subject }: OneIdentity,
  { userId, address }: { userId: number; address: string | null },
  entry: 'identity.created' | 'identity.connected',
): Promise<number> {
  const now = { createdAt: admin.now, lastUsedAt: admin.now };
  const identity = admin.em.create(Identity, { accountId, providerId, subject, userId, address, ...now });
  await explainViolations(parentIsGone(), () => admin.em.flush());
  admin.audit.record(entry, {
    account_id: accountId,
    identity_id: identity.id,
    provider_id: providerId,
    user_id: userId,
  });
  return identity.id;
}

/** The error messages for a new identity whose account or provider has just been deleted. */
const parentIsGone = () => ({
  identities_provider_id_fkey: t('identities.problems.gone'),
  identities_account_id_fkey: t('identities.problems.account_gone'),
});
