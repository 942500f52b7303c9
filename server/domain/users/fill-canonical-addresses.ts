import { sql as fragment } from 'kysely';
import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { sql } from '../../database/sql.ts';
import { canonicalAddress, maxAddressLength } from './canonical-address.ts';

/** The number of rows in one transaction. It is small, so that nobody waits long for the locked rows. */
const batchSize = 1_000;

/**
 * Only one process at a time can fill in canonical e-mail addresses. So if two rows have the same address, the row with
 * the smaller id gets the canonical form.
 */
const lockFilling = sql(
  'lock_canonical_addresses',
  { arguments: {}, row: {} },
  `select pg_advisory_xact_lock(hashtextextended('canonical addresses', 0))`,
);

/**
 * The tables whose rows need a canonical address. The queries search all accounts. A canonical address is unique within
 * its scope. The scope is the id of an account, or 0 for the whole table.
 */
const fillings = [
  {
    select: query(
      'select_unfilled_users',
      (db, $: Arguments<{ after: number }>) =>
        db
          .selectFrom('users')
          .select(u => ['id', 'email', u.lit(0).as('scope')])
          .where('canonical_email', 'is', null)
          .where('is_placeholder', '=', false)
          .where('id', '>', $.after)
          .orderBy('id')
          .limit(batchSize)
          .forNoKeyUpdate()
          .skipLocked()
          .$narrowType<{ email: string }>(),
      { isPrepared: false },
    ),
    update: query(
      'fill_users',
      (db, $: Arguments<Forms>) =>
        db
          .updateTable('users as u')
          .from(rowsOf($))
          .set(f => ({ canonical_email: f.ref('f.form') }))
          .whereRef('u.id', '=', 'f.id')
          .where(f => f.not(f.exists(f.selectFrom('users as o').whereRef('o.canonical_email', '=', 'f.form')))),
      { isPrepared: false },
    ),
  },
  {
    select: query(
      'select_unfilled_invitations',
      (db, $: Arguments<{ after: number }>) =>
        db
          .selectFrom('invitations')
          .select(['id', 'email', 'account_id as scope'])
          .where('canonical_email', 'is', null)
          .where('id', '>', $.after)
          .orderBy('id')
          .limit(batchSize)
          .forNoKeyUpdate()
          .skipLocked(),
      { isPrepared: false },
    ),
    update: query(
      'fill_invitations',
      (db, $: Arguments<Forms>) =>
        db
          .updateTable('invitations as i')
          .from(rowsOf($))
          .set(f => ({ canonical_email: f.ref('f.form') }))
          .whereRef('i.id', '=', 'f.id')
          .where(f => {
            const others = f.selectFrom('invitations as o').whereRef('o.account_id', '=', 'i.account_id');
            return f.not(f.exists(others.whereRef('o.canonical_email', '=', 'f.form')));
          }),
      { isPrepared: false },
    ),
  },
];

interface Forms {
  ids: readonly number[];
  forms: readonly string[];
}

function rowsOf({ ids, forms }: Arguments<Forms>) {
  return fragment<{ id: number; form: string }>`unnest(${ids}::bigint[], ${forms}::text[])`.as<'f'>(
    fragment`f (id, form)`,
  );
}

/**
 * Fills in missing canonical forms of e-mail addresses, because servers of the previous version write addresses without
 * their canonical form. A second run changes nothing.
 *
 * If two users have the same address, only the user with the smaller id gets the canonical form. A search by address
 * does not find the other user. The doctor command reports the other user.
 */
export async function fillCanonicalAddresses(database: Pick<Database, 'transaction'>): Promise<void> {
  for (const filling of fillings) {
    let after: number | undefined = 0;
    while (after !== undefined) after = await fillBatch(database, filling, after);
  }
}

/** Returns the last id of the batch, or undefined if no rows are left. */
async function fillBatch(
  database: Pick<Database, 'transaction'>,
  { select, update }: (typeof fillings)[number],
  after: number,
): Promise<number | undefined> {
  try {
    return await database.transaction(async ({ query }) => {
      await query(lockFilling, {});
      const rows = await query(select, { after });
      const forms = new Map<string, { id: number; form: string }>();
      for (const { id, email, scope } of rows) {
        const form = canonicalAddress(email);
        const key = `${scope} ${form}`;
        if (form.length <= maxAddressLength && !forms.has(key)) forms.set(key, { id, form });
      }
      const filled = [...forms.values()];
      await query(update, { ids: filled.map(({ id }) => id), forms: filled.map(({ form }) => form) });
      return rows.at(-1)?.id;
    });
  } catch (error) {
    // Another transaction has just stored the same canonical address. The next call of fillBatch sees that address.
    if ((error as { code?: string }).code === uniqueViolation) return after;
    throw error;
  }
}

const uniqueViolation = '23505';
