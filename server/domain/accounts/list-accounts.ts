import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';

export interface AccountView {
  id: number;
  slug: string;
  name: string;
  plan: string;
  /** Addresses, the oldest owner first. */
  owners: string[];
  board_count: number;
  member_count: number;
  deletion_scheduled_at: string | null;
  /** When its erasure began, which then goes on to the end. */
  erasure_began_at: string | null;
  created_at: string;
}

const selectAccounts = plannedStatement<AccountView>(`
  select a.id, a.slug, a.name, a.plan,
    coalesce((
      select json_agg(u.email order by m.created_at, u.id)
      from memberships m join users u on u.id = m.user_id
      where m.account_id = a.id and m.role = 'owner'
    ), '[]') as owners,
    (select count(*) from boards b where b.account_id = a.id) as board_count,
    (select count(*) from memberships m where m.account_id = a.id) as member_count,
    a.deletion_scheduled_at, a.erasure_began_at, a.created_at
  from accounts a
  where $1::bigint is null or a.id = $1
  order by a.slug`);

export function listAccounts(admin: Administration): Promise<AccountView[]> {
  return admin.query(selectAccounts, [null]);
}

export async function readAccount(admin: Administration, accountId: number): Promise<AccountView> {
  const [account] = await admin.query(selectAccounts, [accountId]);
  if (!account) throw new AdministrationError('not_found', 'The account is gone');
  return account;
}
