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
