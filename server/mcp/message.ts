/** A message of the protocol that is one JSON object; what is in it is the protocol's to judge. */
export type Message = Record<string, unknown>;

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
