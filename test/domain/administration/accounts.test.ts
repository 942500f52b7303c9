import { expect, test } from 'vitest';
import { createAccount, updateAccount } from '../../../server/domain/accounts/edit-account.ts';
import { requireAccount } from '../../../server/domain/accounts/find-account.ts';
import type { Administration } from '../../../server/domain/administration.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../../../server/domain/erasure/request-deletion.ts';
import type { Account } from '../../../server/entities/account.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { administer, expectRefusal } from './administer.ts';

const db = await createDatabaseForFile();

const owner = { email: 'ada@example.com', name: 'Ada' };

test("an existing user becomes the owner of a new account even if the given e-mail address differs from the user's address in letter case", async () => {
  await administer(db, admin => createAccount(admin, { name: ' First ', slug: 'first', owner }));
  await administer(db, admin =>
    createAccount(admin, { name: 'Second', slug: 'second', plan: 'business', owner: { email: 'ADA@Example.com' } }),
  );
  expect(
    await db.sql(`select a.slug, a.name, a.plan, m.role, u.email from accounts a
      join memberships m on m.account_id = a.id join users u on u.id = m.user_id order by a.slug`),
  ).toEqual([
    { slug: 'first', name: 'First', plan: 'community', role: 'owner', email: 'ada@example.com' },
    { slug: 'second', name: 'Second', plan: 'business', role: 'owner', email: 'ada@example.com' },
  ]);
});

test('a new account with an invalid field or with the slug of another account is refused, and no account or user is created', async () => {
  const refuse = (input: object, reason: 'invalid' | 'conflict', message: string) =>
    expectRefusal(
      db,
      admin =>
        createAccount(admin, { name: 'A', slug: 'a', owner: { email: 'new@example.com', name: 'New' }, ...input }),
      reason,
      message,
    );
  await refuse({ slug: 'first' }, 'conflict', 'Another account has the slug first');
  for (const slug of ['', 'Upper', '-a', 'a-', 'a b', 'é', 'a'.repeat(64), 'a\n']) {
    await refuse({ slug }, 'invalid', 'The slug .* must be 1 to 63 lower-case letters');
  }
  await refuse({ name: '  ' }, 'invalid', 'The name must not be empty');
  await refuse({ name: 'x'.repeat(101) }, 'invalid', 'The name must have at most 100 characters; it has 101');
  await refuse({ name: 'a\nb' }, 'invalid', 'The name must be on one line');
  await refuse({ name: 'a\0b' }, 'invalid', 'a character that cannot be stored');
  await refuse({ plan: 'pro,team' }, 'invalid', 'The plan .* must be');
  await refuse({ owner: { email: 'nobody', name: 'N' } }, 'invalid', '"nobody" is not an e-mail address');
  await refuse({ owner: { email: 'new@example.com' } }, 'invalid', 'There is no user new@example.com yet');
});

test('an account with the longest allowed slug and name can be stored', async () => {
  const slug = `a${'-'.repeat(61)}z`;
  const name = '🎈'.repeat(100);
  await administer(db, admin => createAccount(admin, { name, slug, owner }));
  expect(await db.sql('select name from accounts where slug = $1', [slug])).toEqual([{ name }]);
});

test('a second request to delete an account does not change the scheduled time of the deletion, and a cancellation removes this time', async () => {
  const at = async (change: (admin: Administration, account: Account) => Promise<void>, now: Date) => {
    await administer(db, async admin => change(admin, await requireAccount(admin, 'second')), now);
    const [row] = await db.sql<{ deletion_scheduled_at: string | null }>(
      `select deletion_scheduled_at from accounts where slug = 'second'`,
    );
    return row?.deletion_scheduled_at ? new Date(row.deletion_scheduled_at) : null;
  };
  const first = new Date('2026-03-01T00:00:00Z');
  const second = new Date('2026-03-02T00:00:00Z');
  expect(await at((admin, { id }) => scheduleAccountDeletion(admin, id), first)).toEqual(first);
  expect(await at((admin, { id }) => scheduleAccountDeletion(admin, id), second)).toEqual(first);
  expect(await at((admin, account) => updateAccount(admin, account, { name: 'Renamed' }), second)).toEqual(first);
  expect(await at((admin, { id }) => cancelAccountDeletion(admin, id), second)).toBe(null);
});

test('an account cannot change its slug to the slug of another account', async () => {
  await expectRefusal(
    db,
    async admin => updateAccount(admin, await requireAccount(admin, 'second'), { name: 'B', slug: 'first' }),
    'conflict',
    'Another account has the slug first',
  );
});
