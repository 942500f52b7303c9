import type { z } from 'zod';
import { DomainError } from '../../domain/domain-error.ts';

/**
 * Reads the query of a page. Ignores empty form fields, and unknown parameters that other sites add to links. Throws
 * for an invalid value.
 */
export function readQuery<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const entries = Object.entries(given as Record<string, unknown>);
  const filled = Object.fromEntries(entries.filter(([, value]) => typeof value !== 'string' || value.trim() !== ''));
  const result = schema.safeParse(filled);
  if (!result.success) throw new DomainError('validation_failed');
  return result.data;
}
