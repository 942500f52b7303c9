import type { Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Enough: the same remedy helps all of them. */
const maxNamed = 100;

/** Looks for users whom no address finds, because an older user has theirs in another spelling. */
export async function diagnoseAddresses(db: Kysely<Tables>): Promise<Finding[]> {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'email'])
    .where('canonical_email', 'is', null)
    .where('is_placeholder', '=', false)
    .orderBy('id')
    .limit(maxNamed)
    .$narrowType<{ email: string }>()
    .execute();
  if (rows.length === 0) return [ok('Every user has an e-mail address of their own')];
  const owners = await findOwners(
    db,
    rows.map(({ email }) => canonicalAddress(email)),
  );
  return rows.map(({ id, email }) => {
    const owner = owners.get(canonicalAddress(email));
    return owner === undefined
      ? warning(
          `The address of user ${id} has no canonical form in the database, so nobody can sign in with it`,
          `${invocation} migrate adds the form, unless the address is too long: then ${giveAnother(id)}`,
        )
      : warning(
          `User ${id} has the address of user ${owner} in another spelling, and cannot sign in with it`,
          `Have them confirm another one at /admin/profile where they are still signed in, or ${giveAnother(id)}`,
        );
  });
}

function giveAnother(id: number): string {
  return `set it: ${invocation} user update --user ${id} --email <address>`;
}

async function findOwners(db: Kysely<Tables>, forms: string[]): Promise<Map<string | null, number>> {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'canonical_email'])
    .where('canonical_email', 'in', forms)
    .execute();
  return new Map(rows.map(({ id, canonical_email: form }) => [form, id]));
}
