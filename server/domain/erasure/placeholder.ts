import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

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

/** A user as answers and events show one. */
export interface ShownPerson {
  id: number;
  name: string;
}

/**
 * Puts another person in the place of a user, wherever a JSON text shows the user: as the author of an idea or of a
 * comment, or as who acted. Undefined where it shows the user nowhere.
 */
export function redactPerson(json: string, userId: number, stand: ShownPerson): string | undefined {
  let isShown = false;
  const redacted = JSON.parse(json, (_key, value: unknown) => {
    if (!isPerson(value) || value.id !== userId) return value;
    isShown = true;
    return { ...value, ...stand };
  });
  return isShown ? JSON.stringify(redacted) : undefined;
}

const idAndName = ['id', 'name'];

/**
 * The contract shows people, and nothing but people, as an id and a name, and one who acted with the token besides:
 * boards have a slug too, and tags a color.
 */
function isPerson(value: unknown): value is ShownPerson {
  if (typeof value !== 'object' || value === null) return false;
  const keys = Object.keys(value).filter(key => key !== 'token_id');
  return keys.length === idAndName.length && idAndName.every(key => keys.includes(key));
}
