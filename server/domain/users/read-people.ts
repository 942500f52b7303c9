import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { t } from '../../text/catalogue.ts';
import { AdministrationError } from '../administration.ts';

/** The role is null if the person is not a member. */
export type PersonView = RowOf<typeof selectPeople>;

/**
 * Selects only users who are members of the account, who are blocked there, or who wrote an idea or a comment there. An
 * account must not learn about other users.
 */
const selectPeople = query('select_people', (db, $: Arguments<{ accountId: number; userIds: readonly number[] }>) =>
  db
    .selectFrom('users as u')
    .leftJoin('memberships as m', join => join.on('m.account_id', '=', $.accountId).onRef('m.user_id', '=', 'u.id'))
    .leftJoin('user_blocks as b', join => join.on('b.account_id', '=', $.accountId).onRef('b.user_id', '=', 'u.id'))
    .select(u => ['u.id', 'u.name', 'm.role', u('b.user_id', 'is not', null).$castTo<boolean>().as('is_blocked')])
    .where(u => u('u.id', '=', u.fn.any($.userIds)))
    .where('u.is_placeholder', '=', false)
    .where(u => {
      const ideas = u.selectFrom('ideas as i').where('i.account_id', '=', $.accountId);
      const comments = u.selectFrom('comments as c').where('c.account_id', '=', $.accountId);
      return u.or([
        u('m.user_id', 'is not', null),
        u('b.user_id', 'is not', null),
        u.exists(ideas.whereRef('i.author_id', '=', 'u.id')),
        u.exists(comments.whereRef('c.author_id', '=', 'u.id')),
      ]);
    }),
);

/**
 * Reads users by id. Leaves out users who are unknown in the account, and the placeholder user, who is the author of
 * erased users' texts.
 */
export async function readPeople(
  db: Queryable,
  accountId: number,
  userIds: readonly number[],
): Promise<Map<number, PersonView>> {
  const people = await db.query(selectPeople, { accountId, userIds });
  return new Map(people.map(person => [person.id, person]));
}

export async function requirePerson(db: Queryable, accountId: number, userId: number): Promise<PersonView> {
  const person = (await readPeople(db, accountId, [userId])).get(userId);
  if (!person) throw new AdministrationError('not_found', t('refusals.user.unknown_in_account', { id: userId }));
  return person;
}
