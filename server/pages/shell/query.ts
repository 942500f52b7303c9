import type { z } from 'zod';
import { DomainError } from '../../domain/domain-error.ts';

/**
 * Reads the query of a page. Fields of a form that were left empty are as if they were not there, and so is what the
 * page does not know: links that are passed around pick up parameters on the way. A wrong value is refused.
 */
export function readQuery<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const entries = Object.entries(given as Record<string, unknown>);
  const filled = Object.fromEntries(entries.filter(([, value]) => typeof value !== 'string' || value.trim() !== ''));
  const result = schema.safeParse(filled);
  if (!result.success) throw new DomainError('validation_failed');
  return result.data;
}
