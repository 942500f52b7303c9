import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import { AdministrationError } from '../administration.ts';

/** Somebody as an account knows them. */
export interface PersonView {
  id: number;
  name: string;
  /** Null for whoever is no member. */
  role: Role | null;
  is_blocked: boolean;
}

/** Members, those who are blocked, and whoever wrote something: of other users an account learns nothing. */
const selectPeople = statement<PersonView>(
  'select_people',
  `select u.id, u.name, m.role, b.user_id is not null as is_blocked
  from users u
  left join memberships m on m.account_id = $1 and m.user_id = u.id
  left join user_blocks b on b.account_id = $1 and b.user_id = u.id
  where u.id = any($2) and not u.is_placeholder
    and (
      m.user_id is not null
      or b.user_id is not null
      or exists (select from ideas i where i.author_id = u.id and i.account_id = $1)
      or exists (select from comments c where c.author_id = u.id and c.account_id = $1)
    )`,
);

/** Reads the people of an account, by their ids. Whoever is none of it is left out, and so is the deleted user. */
export async function readPeople(
  db: Queryable,
  accountId: number,
  userIds: readonly number[],
): Promise<Map<number, PersonView>> {
  const people = await db.query(selectPeople, [accountId, userIds]);
  return new Map(people.map(person => [person.id, person]));
}

export async function requirePerson(db: Queryable, accountId: number, userId: number): Promise<PersonView> {
  const person = (await readPeople(db, accountId, [userId])).get(userId);
  if (!person) throw new AdministrationError('not_found', `The account knows no user ${userId}`);
  return person;
}
