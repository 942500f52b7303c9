import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { administeringRoles } from '../../entities/membership.ts';
import { activeMemberships } from '../members/authority.ts';

/** How many days before the expiry of a token the server sends each notice. The earliest notice comes first. */
const noticeDays = [7, 1] as const;

const dayMs = 86_400_000;

/**
 * If a notice is already due when the expiry of a token is set, the server does not send this notice. So a token for
 * three days gets no notice at once, but it gets a notice a day before its expiry. The function returns the number of
 * days of the last notice that is already due.
 */
export function passedNoticeDays(expiresAt: Date | null | undefined, now: Date): number | null {
  if (!expiresAt) return null;
  const leftMs = expiresAt.getTime() - now.getTime();
  return noticeDays.findLast(days => leftMs <= days * dayMs) ?? null;
}

/** The maximum number of notices that one run of the job adds. The next run adds the remaining notices. */
const batchSize = 1_000;

const [firstDays, lastDays] = noticeDays;
const within = (days: number) => sql<string>`now() + ${sql.lit(days)} * interval '1 day'`;

/**
 * Selects the tokens whose next notice is due, marks this notice as done, and adds the job that mails it. Because this
 * is one statement, each notice has exactly one job, even if several workers run the statement. Searches all accounts,
 * because a scheduled job runs it.
 */
const addNotices = query(
  'add_token_expiry_notices',
  db =>
    db
      .with('due', cte =>
        cte
          .selectFrom('api_tokens as t')
          .select(['t.account_id', 't.id'])
          .where('t.kind', '=', 'api')
          .where('t.revoked_at', 'is', null)
          .where('t.expires_at', '>', sql<string>`now()`)
          .where('t.expires_at', '<=', within(firstDays))
          .where(t =>
            t.or([
              t('t.expiry_notice_days', 'is', null),
              t.and([t('t.expiry_notice_days', '>', lastDays), t('t.expires_at', '<=', within(lastDays))]),
            ]),
          )
          .orderBy('t.expires_at')
          .limit(batchSize)
          .forNoKeyUpdate('t')
          .skipLocked(),
      )
      .with('noted', cte =>
        cte
          .updateTable('api_tokens as t')
          .from('due')
          .set(t => ({
            expiry_notice_days: t
              .case()
              .when('t.expires_at', '<=', within(lastDays))
              .then(t.lit(lastDays))
              .else(t.lit(firstDays))
              .end(),
          }))
          .whereRef('t.account_id', '=', 'due.account_id')
          .whereRef('t.id', '=', 'due.id')
          .returning(['t.account_id', 't.id', 't.expiry_notice_days']),
      )
      .selectFrom('noted as n')
      .select(
        sql`graphile_worker.add_job(
          'mail_token_expiry',
          json_build_object('account_id', n.account_id, 'token_id', n.id, 'notice_days', n.expiry_notice_days)
        )`.as('job'),
      ),
  { isPrepared: false },
);

/** Adds the jobs that mail the notices that are due: 7 days and 1 day before a token expires. */
export async function addExpiryNotices(queue: Queryable): Promise<void> {
  await queue.query(addNotices, {});
}

export interface ExpiryNotice {
  accountId: number;
  tokenId: number;
  noticeDays: number;
}

const selectNotice = query('select_token_expiry_notice', (db, $: Arguments<ExpiryNotice>) =>
  db
    .selectFrom('api_tokens as t')
    .innerJoin('accounts as a', 'a.id', 't.account_id')
    .innerJoin('users as u', 'u.id', 't.issuer_id')
    .innerJoin(activeMemberships(db, $.accountId).select(['m.user_id', 'm.role']).as('m'), 'm.user_id', 't.issuer_id')
    .select(n => [
      't.name',
      n.ref('t.expires_at').$notNull().as('expires_at'),
      'a.name as account',
      'a.slug',
      'u.id as user_id',
      'u.language',
      n.ref('u.notification_email').$notNull().as('address'),
    ])
    .where(t => t.and({ 't.account_id': $.accountId, 't.id': $.tokenId, 't.expiry_notice_days': $.noticeDays }))
    .where('t.revoked_at', 'is', null)
    .where('t.expires_at', '>', sql<string>`now()`)
    .where('a.id', '=', $.accountId)
    .where('a.erasure_began_at', 'is', null)
    .where('m.role', 'in', administeringRoles)
    .where('u.notification_email', 'is not', null),
);

/**
 * Reads the content of a notice about the expiry of a token. Returns undefined if nobody needs the notice any more.
 * This is the case if the token was revoked or has another expiry now, or if its issuer gets no mail. It is also the
 * case if the issuer is no longer an owner or admin, because only owners and admins can rotate the token.
 */
export async function readExpiryNotice(
  db: Queryable,
  notice: ExpiryNotice,
): Promise<RowOf<typeof selectNotice> | undefined> {
  const [found] = await db.query(selectNotice, notice);
  return found;
}
