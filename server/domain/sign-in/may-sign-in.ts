/**
 * The condition, in a statement whose user is u, on which somebody signs in and stays so: not the placeholder, nobody
 * whose erasure has begun, and nobody who is blocked wherever they would go. Whoever asked for their deletion may, to call it
 * off.
 */
export const maySignIn = `(
  not u.is_placeholder and u.erasure_began_at is null
  and (
    not exists (select from user_blocks b where b.user_id = u.id)
    or exists (
      select from memberships m
      where m.user_id = u.id
        and not exists (select from user_blocks b where b.account_id = m.account_id and b.user_id = m.user_id)
    )
  )
)`;
