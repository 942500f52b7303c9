/** An error that makes an extension unusable. The message names the extension and gives the reason in one line. */
export class ExtensionError extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} ${reason}`, options);
  }
}

/** Returns the first line of an error's message. The other lines contain code or a stack. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0] || 'unknown reason';
}
