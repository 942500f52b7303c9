/**
 * A field of a form, or a parameter of an address, as it was sent; empty where there is none, or where there are several of
 * the name.
 */
export function fieldOf(sent: unknown, name: string): string {
  const value = typeof sent === 'object' && sent !== null ? (sent as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The id that a field has, such as the one of a choice; undefined where it has none. */
export function idFieldOf(sent: unknown, name: string): number | undefined {
  const text = fieldOf(sent, name);
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
