import type pg from 'pg';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

/** More are not named: what helps one helps all. */
const maxNamed = 100;

/** Looks for users whom no address finds: an older user has theirs in another spelling. */
export async function diagnoseAddresses(client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<{ id: string; email: string }>(
    `select id, email from users where canonical_email is null and not is_placeholder order by id limit ${maxNamed}`,
  );
  if (rows.length === 0) return [ok('Every user has an e-mail address of their own')];
  const owners = await findOwners(
    client,
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

function giveAnother(id: string): string {
  return `set it: ${invocation} user update --user ${id} --email <address>`;
}

async function findOwners(client: pg.Client, forms: string[]): Promise<Map<string, string>> {
  const { rows } = await client.query<{ id: string; form: string }>(
    'select id, canonical_email as form from users where canonical_email = any ($1)',
    [forms],
  );
  return new Map(rows.map(({ id, form }) => [form, id]));
}
