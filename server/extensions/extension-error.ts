/** An extension cannot be used; the message names it and says why, in one line. */
export class ExtensionError extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} ${reason}`, options);
  }
}

/** What went wrong, on one line: the first one says it, and the others are code or a stack. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0] || 'it does not say why';
}
