import { AdministrationError } from '../../domain/administration.ts';
import { oneLine } from '../../text/plain-text.ts';

/** Why a form was refused, to be shown above it with what was entered. */
export interface Problem {
  status: number;
  message: string;
  cause?: unknown;
}

/** What is wrong with what was entered. Every other error is thrown on, to its own page. */
export function problemOf(error: unknown): Problem {
  if (error instanceof AdministrationError) {
    // It may repeat what somebody wrote, such as the name of a board.
    const message = oneLine(error.message);
    if (error.reason === 'invalid') return { status: 422, message, cause: error };
    if (error.reason === 'conflict') return { status: 409, message, cause: error };
  }
  throw error;
}
