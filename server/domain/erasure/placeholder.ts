import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import type { ShownPerson } from './redact-person.ts';

/** What everybody reads where the name of an erased user stood. */
export const placeholderName = 'Deleted user';

/** One user for all that was erased: of two who make it at the same time, the second waits and makes none. */
const insertPlaceholder = statement<never>(
  'insert_placeholder',
  `insert into users (name, is_placeholder, created_at) values ($1, true, $2) on conflict (is_placeholder) where is_placeholder
  do nothing`,
);

const selectPlaceholder = statement<ShownPerson>(
  'select_placeholder',
  'select id, name from users where is_placeholder',
);

/** The user to whom what erased users wrote is attributed (User-deletion placeholders); made when first needed. */
export async function requirePlaceholder(database: Queryable, now: Date): Promise<ShownPerson> {
  const [existing] = await database.query(selectPlaceholder, []);
  if (existing) return existing;
  await database.query(insertPlaceholder, [placeholderName, now]);
  const [made] = await database.query(selectPlaceholder, []);
  if (!made) throw new Error('The placeholder of erased users could not be made');
  return made;
}
