import type { Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

/**
 * The maximum number of users that the command `doctor` names. More names would not help, because all these users need
 * the same kind of remedy.
 */
const maxNamed = 100;

/**
 * Finds users who cannot sign in, mostly because a user who was created earlier has the same e-mail address in another
 * spelling.
 */
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
          `Add it: ${invocation} migrate. If the address is too long, ${giveAnother(id)}`,
        )
      : warning(
          `User ${id} has the address of user ${owner} in another spelling, and cannot sign in with it`,
          `If they are still signed in, they can change it at /admin/profile; otherwise ${giveAnother(id)}`,
        );
  });
}

function giveAnother(id: number): string {
  return `set another address: ${invocation} user update --user ${id} --email <address>`;
}

async function findOwners(db: Kysely<Tables>, forms: string[]): Promise<Map<string | null, number>> {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'canonical_email'])
    .where('canonical_email', 'in', forms)
    .execute();
  return new Map(rows.map(({ id, canonical_email: form }) => [form, id]));
}
