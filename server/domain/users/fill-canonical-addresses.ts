import type { Database } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import { canonicalAddress, maxAddressLength } from './canonical-address.ts';

interface Unfilled {
  id: number;
  email: string;
  /** Among which rows a form is unique. */
  scope: number;
}

/** So few that nobody waits for the rows. */
const batchSize = 1_000;

/** One process fills at a time: an older row comes before a younger one. */
const lockFilling = plannedStatement<never>(`select pg_advisory_xact_lock(hashtextextended('canonical addresses', 0))`);

const fillings = [
  {
    select: plannedStatement<Unfilled>(`
      select id, email, 0 as scope from users
      where canonical_email is null and not is_placeholder and id > $1
      order by id limit ${batchSize} for no key update skip locked`),
    update: plannedStatement<never>(`
      update users u set canonical_email = f.form
      from unnest($1::bigint[], $2::text[]) as f (id, form)
      where u.id = f.id and not exists (select from users o where o.canonical_email = f.form)`),
  },
  {
    select: plannedStatement<Unfilled>(`
      select id, email, account_id as scope from invitations
      where canonical_email is null and id > $1
      order by id limit ${batchSize} for no key update skip locked`),
    update: plannedStatement<never>(`
      update invitations i set canonical_email = f.form
      from unnest($1::bigint[], $2::text[]) as f (id, form)
      where i.id = f.id and not exists (
        select from invitations o where o.canonical_email = f.form and o.account_id = i.account_id
      )`),
  },
];

/**
 * Fills the canonical form of addresses that lack it: those from before there was one, and those that servers of the
 * version before have written since. Where two rows have one address, the older gets the form and the younger stays
 * without: no address finds it, and doctor names the user. Repeating changes nothing.
 */
export async function fillCanonicalAddresses(database: Pick<Database, 'transaction'>): Promise<void> {
  for (const filling of fillings) {
    let after: number | undefined = 0;
    while (after !== undefined) after = await fillBatch(database, filling, after);
  }
}

/** Answers the last id of the batch; undefined at the end. */
async function fillBatch(
  database: Pick<Database, 'transaction'>,
  { select, update }: (typeof fillings)[number],
  after: number,
): Promise<number | undefined> {
  try {
    return await database.transaction(async ({ query }) => {
      await query(lockFilling, []);
      const rows = await query(select, [after]);
      const forms = new Map<string, { id: number; form: string }>();
      for (const { id, email, scope } of rows) {
        const form = canonicalAddress(email);
        const key = `${scope} ${form}`;
        if (form.length <= maxAddressLength && !forms.has(key)) forms.set(key, { id, form });
      }
      const filled = [...forms.values()];
      await query(update, [filled.map(({ id }) => id), filled.map(({ form }) => form)]);
      return rows.at(-1)?.id;
    });
  } catch (error) {
    // Somebody has taken one of the addresses meanwhile: the next try sees it.
    if ((error as { code?: string }).code === uniqueViolation) return after;
    throw error;
  }
}

const uniqueViolation = '23505';
