import { AdministrationError } from '../domain/administration.ts';

/** Why a form was refused, to be shown above it with what was entered. */
export interface Problem {
  status: 422 | 409;
  message: string;
}

/** What is wrong with what was entered. Every other error is thrown on, to its own page. */
export function problemOf(error: unknown): Problem {
  if (error instanceof AdministrationError) {
    if (error.reason === 'invalid') return { status: 422, message: error.message };
    if (error.reason === 'conflict') return { status: 409, message: error.message };
  }
  throw error;
}
