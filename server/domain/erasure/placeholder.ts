import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

export const placeholderName = 'Deleted user';

/**
 * Only one placeholder user, who stands for all erased users, can exist. If two runs insert it at the same time, the
 * second run waits and inserts nothing.
 */
const insertPlaceholder = query('insert_placeholder', (db, $: Arguments<{ name: string; now: Date }>) =>
  db
    .insertInto('users')
    .values({ name: $.name, is_placeholder: true, created_at: $.now })
    .onConflict(user => user.column('is_placeholder').where('is_placeholder', '=', true).doNothing()),
);

const selectPlaceholder = query('select_placeholder', db =>
  db.selectFrom('users').select(['id', 'name']).where('is_placeholder', '=', true),
);

/** Returns the placeholder user, the author of the content of erased users. The first call creates this user. */
export async function requirePlaceholder(database: Queryable, now: Date): Promise<ShownPerson> {
  const [existing] = await database.query(selectPlaceholder, {});
  if (existing) return existing;
  await database.query(insertPlaceholder, { name: placeholderName, now });
  const [made] = await database.query(selectPlaceholder, {});
  if (!made) throw new Error('The placeholder of erased users could not be made');
  return made;
}

export interface ShownPerson {
  id: number;
  name: string;
}

/** Replaces a user (an author or actor) in a JSON text. Returns undefined if the text does not show the user. */
export function redactPerson(json: string, userId: number, replacement: ShownPerson): string | undefined {
  let isShown = false;
  const redacted = JSON.parse(json, (_key, value: unknown) => {
    if (!isPerson(value) || value.id !== userId) return value;
    isShown = true;
    return { ...value, ...replacement };
  });
  return isShown ? JSON.stringify(redacted) : undefined;
}

/**
 * Recognizes a person in a stored event or response: an object with only an id and a name is always a person. The actor
 * of an event may also have the id of a token. Other objects have more fields: a board has a slug, and a tag has a
 * color.
 */
function isPerson(value: unknown): value is ShownPerson {
  if (typeof value !== 'object' || value === null) return false;
  const { token_id: _, ...others } = value as Record<string, unknown>;
  return Object.keys(others).sort().join() === 'id,name';
}
