import { AdministrationError } from './administration.ts';

/**
 * Runs a write, and where it violates one of the constraints named, refuses with the message of that constraint. Asking
 * before the write would leave a gap in which another could take the name.
 */
export async function explainViolations<T>(messages: Record<string, string>, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const { constraint } = error as { constraint?: unknown };
    const message = typeof constraint === 'string' ? messages[constraint] : undefined;
    if (message === undefined) throw error;
    throw new AdministrationError('conflict', message, { cause: error });
  }
}
