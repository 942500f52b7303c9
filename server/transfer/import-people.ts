import { lockAccount } from '../domain/accounts/find-account.ts';
import { makeReplacementAddress } from '../domain/identities/own-address.ts';
import { canonicalAddress } from '../domain/users/canonical-address.ts';
import { type Role, roles } from '../entities/membership.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { type ImportBatch, idsOf, type PlacedRecord } from './import-batch.ts';

type Person = RecordOf<'person'>;

/**
 * Imports people. If a user with a person's e-mail address exists, the person is this user, and the profile of the user
 * does not change. The import creates the other users without a password. They can sign in with a link that they
 * request by e-mail.
 *
 * The import gives nobody more rights than the role member, unless the operator asks for the roles of the archive. It
 * never lowers a role.
 */
export async function importPeople(batch: ImportBatch, records: readonly PlacedRecord<Person>[]): Promise<number> {
  const { db, query, options } = batch;
  const { accountId } = options;
  const known = await findRows(batch, 'person', idsOf(records));
  const people = records.map(({ record }) => record).filter(({ id }) => !known.has(id));
  if (people.length === 0) return 0;
  // With this lock, changes of members run one after the other. A dry run changes nothing in the end, so it need not
  // wait.
  if (!options.isDryRun) await lockAccount({ query }, accountId);
  const userIds = await findOrInsertUsers(batch, people);
  const withUsers = people.map(person => ({ person, userId: userIds.get(person.id) ?? 0 }));
  await insertExternalIds(
    db,
    accountId,
    'person',
    withUsers.map(({ person, userId }) => [person.id, userId]),
  );
  await insertBlocks(batch, withUsers);
  await insertMembers(batch, withUsers);
  return people.length;
}

/** Returns the user of each person, by the person's external id. */
async function findOrInsertUsers(
  { db, options: { now } }: ImportBatch,
  people: readonly Person[],
): Promise<Map<string, number>> {
  const named = people.map(({ id, name, email }) => {
    const address = email ?? makeReplacementAddress();
    return { id, name, address, canonical: canonicalAddress(address) };
  });
  const canonicals = [...new Set(named.map(({ canonical }) => canonical))];
  const users = await db
    .selectFrom('users')
    .select(['id', 'canonical_email'])
    .where(u => u('canonical_email', '=', u.fn.any(u.val<(string | null)[]>(canonicals))))
    .execute();
  const byAddress = new Map(users.map(({ id, canonical_email }) => [canonical_email, id]));
  // Two people of the archive may have the same address. Only the first of them becomes a new user.
  const missing = new Map(
    named
      .filter(({ canonical }) => !byAddress.has(canonical))
      .toReversed()
      .map(one => [one.canonical, one]),
  );
  if (missing.size > 0) {
    const inserted = await db
      .insertInto('users')
      .values(
        [...missing.values()].map(({ name, address, canonical }) => ({
          name,
          email: address,
          canonical_email: canonical,
          created_at: now,
        })),
      )
      .returning(['id', 'canonical_email'])
      .execute();
    for (const { id, canonical_email } of inserted) byAddress.set(canonical_email, id);
  }
  return new Map(named.map(({ id, canonical }) => [id, byAddress.get(canonical) ?? 0]));
}

interface WithUser {
  person: Person;
  userId: number;
}

async function insertBlocks({ db, options: { accountId } }: ImportBatch, people: readonly WithUser[]): Promise<void> {
  const blocks = people.flatMap(({ person: { block }, userId }) =>
    block ? [{ account_id: accountId, user_id: userId, ...block }] : [],
  );
  if (blocks.length === 0) return;
  await db
    .insertInto('user_blocks')
    .values(blocks)
    .onConflict(conflict => conflict.doNothing())
    .execute();
}

/**
 * Makes people members. If a person is a member already, the earlier of the two dates of joining counts. So the import
 * restores the date of the owner, who was added when the operator created the account for the import.
 */
async function insertMembers(batch: ImportBatch, people: readonly WithUser[]): Promise<void> {
  const { db, audit, options } = batch;
  const { accountId, withRoles, now } = options;
  const wanted = new Map<number, { role: Role; joinedAt: Date }>();
  for (const { person, userId } of people) {
    if (person.role === null) continue;
    const role = withRoles ? person.role : 'member';
    const joinedAt = person.joined_at === null ? now : new Date(person.joined_at);
    const other = wanted.get(userId);
    wanted.set(userId, {
      role: other ? higherOf(role, other.role) : role,
      joinedAt: other && other.joinedAt < joinedAt ? other.joinedAt : joinedAt,
    });
  }
  if (wanted.size === 0) return;
  const userIds = [...wanted.keys()];
  const existing = await db
    .selectFrom('memberships')
    .select(['user_id', 'role', 'created_at'])
    .where('account_id', '=', accountId)
    .where(m => m('user_id', '=', m.fn.any(m.val(userIds))))
    .execute();
  for (const { user_id: userId, role: from, created_at } of existing) {
    const { role, joinedAt } = wanted.get(userId) ?? { role: from, joinedAt: now };
    wanted.delete(userId);
    const to = higherOf(role, from);
    await db
      .updateTable('memberships')
      .set({ role: to, created_at: joinedAt < new Date(created_at) ? joinedAt : created_at })
      .where(m => m.and({ account_id: accountId, user_id: userId }))
      .execute();
    if (to !== from) audit.record('member.role_changed', { account_id: accountId, user_id: userId, from, to });
  }
  if (wanted.size === 0) return;
  await db
    .insertInto('memberships')
    .values(
      [...wanted].map(([userId, { role, joinedAt }]) => ({
        account_id: accountId,
        user_id: userId,
        role,
        created_at: joinedAt,
      })),
    )
    .execute();
  for (const [userId, { role }] of wanted) {
    // Ordinary members get no audit entries of their own, because the audit entry of the import is enough.
    if (role !== 'member') audit.record('member.added', { account_id: accountId, user_id: userId, role });
  }
  await db
    .deleteFrom('invitations as i')
    .using('users as u')
    .where('i.account_id', '=', accountId)
    .where(u => u('u.id', '=', u.fn.any(u.val(userIds))))
    .whereRef('i.canonical_email', '=', 'u.canonical_email')
    .execute();
}

function higherOf(one: Role, other: Role): Role {
  return roles.indexOf(one) < roles.indexOf(other) ? one : other;
}
