import { mayManageIn } from '../members/may-manage.ts';

/**
 * The condition under which the invitation i of a statement can be accepted, is listed and is mailed: it has not expired,
 * its address has its canonical form, and its account is not being erased. Its inviter may still invite to its role, and
 * no blocked user would join by it. Whatever changes one of these need not know of invitations.
 */
export function invitationStands(now: string): string {
  return `(
  i.expires_at > ${now}
  and i.canonical_email is not null
  and exists (select from accounts a where a.id = i.account_id and a.erasure_began_at is null)
  and (i.inviter_id is null or exists (
    select from memberships m
    where m.account_id = i.account_id and m.user_id = i.inviter_id and ${mayManageIn('m.role', 'i.role')}
      and not exists (select from user_blocks b where b.account_id = m.account_id and b.user_id = m.user_id)
  ))
  and not exists (
    select from users v join user_blocks b on b.user_id = v.id
    where v.canonical_email = i.canonical_email and b.account_id = i.account_id
  )
)`;
}
