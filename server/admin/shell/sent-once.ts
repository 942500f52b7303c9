import { randomBytes } from 'node:crypto';
import { type Administration, AdministrationError } from '../../domain/administration.ts';
import { charge, isExhausted } from '../../http/rate-limit.ts';
import { fieldOf } from './form-fields.ts';

const keptSeconds = 86_400;

/** The hidden field form_id of a form that is to be done once. */
export function newFormId(): string {
  return randomBytes(16).toString('base64url');
}

/**
 * Lets a form be done once, however often it is sent: by a double click, or by loading its answer anew, where no redirect
 * leads away from it. It is counted in the transaction of what the form does. So of two at once the second waits for the
 * first, and a form that was refused may be sent again.
 */
export async function requireFirst(admin: Administration, body: unknown): Promise<void> {
  const id = fieldOf(body, 'form_id');
  if (!/^[\w-]{22}$/.test(id)) throw new AdministrationError('conflict', 'Send it again from this page');
  const counter = {
    name: 'form',
    key: `form:${id}`,
    limit: 1,
    windowSeconds: keptSeconds,
    // Of every server and at every time the same: no window turns between the two.
    windowStartedAt: new Date(0),
    expiresAt: new Date(admin.now.getTime() + keptSeconds * 1000),
  };
  if (isExhausted(await charge(admin, counter, admin.now))) {
    throw new AdministrationError(
      'conflict',
      'It was sent twice and done once. What is shown only once was in the first answer',
    );
  }
}
