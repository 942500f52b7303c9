/**
 * A field of a form, or a parameter of an address, as it was sent; empty where there is none, or where there are several of
 * the name.
 */
export function fieldOf(sent: unknown, name: string): string {
  const value = typeof sent === 'object' && sent !== null ? (sent as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}
