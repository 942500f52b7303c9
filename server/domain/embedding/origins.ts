import { t } from '../../text/catalogue.ts';
import { AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

/**
 * The maximum number of websites (origins) that may embed the boards of one account. A check constraint of the database
 * has the same number.
 */
export const maxEmbeddingOrigins = 20;

/**
 * Matches an origin in the form that browsers send. A response header contains these origins, so the host must have no
 * spaces, and no punctuation marks except dots, hyphens and underscores. HTTP is allowed only for the developer's own machine.
 */
const originForm = /^(?:https:\/\/[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|http:\/\/localhost)(?::\d{1,5})?$/;

/** Checks the origins that a person entered. Returns the origins in the form that browsers send, without duplicates. */
export function checkEmbeddingOrigins(values: readonly string[]): string[] {
  const origins = [...new Set(values.map(checkOrigin))];
  if (origins.length > maxEmbeddingOrigins) {
    throw new AdministrationError('invalid', t('embedding.origins.limit', { count: maxEmbeddingOrigins }));
  }
  return origins;
}

function checkOrigin(value: string): string {
  const url = URL.parse(value);
  // Refuses a URL with a path, a user name or a query, because an origin must not have these parts.
  if (url && url.href === `${url.origin}/` && originForm.test(url.origin)) return url.origin;
  throw new AdministrationError('invalid', t('embedding.origins.invalid', { origin: quote(value) }));
}
