import { t } from '../../text/catalogue.ts';
import { AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

/** The maximum number of origins of an account. A check constraint of the database has the same number. */
export const maxEmbeddingOrigins = 20;

/**
 * Matches an origin as browsers write it. The origins become a part of a header, so the host contains neither spaces nor
 * punctuation marks. Developers may use HTTP on their own machine.
 */
const originForm = /^(?:https:\/\/[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|http:\/\/localhost)(?::\d{1,5})?$/;

/** Returns the origins as browsers write them, each of them once. */
export function checkEmbeddingOrigins(values: readonly string[]): string[] {
  const origins = [...new Set(values.map(checkOrigin))];
  if (origins.length > maxEmbeddingOrigins) {
    throw new AdministrationError('invalid', t('embedding.origins.limit', { count: maxEmbeddingOrigins }));
  }
  return origins;
}

function checkOrigin(value: string): string {
  const url = URL.parse(value);
  // A path, a user name or a query would have no effect, so it is an error.
  if (url && url.href === `${url.origin}/` && originForm.test(url.origin)) return url.origin;
  throw new AdministrationError('invalid', t('embedding.origins.invalid', { origin: quote(value) }));
}
