import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { ShownPerson } from './redact-person.ts';

/** Shown in place of the name of an erased user. */
export const placeholderName = 'Deleted user';

/** Only one such user can exist. If two runs insert it at the same time, the second waits and inserts nothing. */
const insertPlaceholder = query('insert_placeholder', (db, $: Arguments<{ name: string; now: Date }>) =>
  db
    .insertInto('users')
    .values({ name: $.name, is_placeholder: true, created_at: $.now })
    .onConflict(user => user.column('is_placeholder').where('is_placeholder', '=', true).doNothing()),
);

const selectPlaceholder = query('select_placeholder', db =>
  db.selectFrom('users').select(['id', 'name']).where('is_placeholder', '=', true),
);

/** Returns the author of everything that erased users wrote (User-deletion placeholders). Created when first needed. */
export async function requirePlaceholder(database: Queryable, now: Date): Promise<ShownPerson> {
  const [existing] = await database.query(selectPlaceholder, {});
  if (existing) return existing;
  await database.query(insertPlaceholder, { name: placeholderName, now });
  const [made] = await database.query(selectPlaceholder, {});
  if (!made) throw new Error('The placeholder of erased users could not be made');
  return made;
}
