/**
 * Notes what fields of an entity are, and answers later which of them are different, in the words of the API: for the
 * audit log, which names them and does not repeat what is in them.
 */
export function noteFields<Entity extends object>(entity: Entity, names: readonly (keyof Entity & string)[]) {
  const before = names.map(name => comparable(entity[name]));
  return (): string[] => names.filter((name, index) => comparable(entity[name]) !== before[index]).map(toSnakeCase);
}

function comparable(value: unknown): string {
  return JSON.stringify(value ?? null);
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
