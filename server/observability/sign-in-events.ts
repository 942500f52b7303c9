import { z } from 'zod';
import { defineEvent, field } from './define-event.ts';

/** A request of a browser. */
const request = { request_id: field.requestId, ip: field.ip };
const userId = field.userId('who it is about');

/** How people come and go in the pages. What they do there is in the events of the administration. */
export const signInEvents = {
  'sign_in.succeeded': defineEvent('Somebody signed in.', { ...request, user_id: userId }),
  'sign_in.failed': defineEvent(
    'Somebody did not get in. The answer is the same for every reason.',
    {
      ...request,
      reason: z
        .enum(['unknown_user', 'no_password', 'wrong_password', 'blocked'])
        .describe(
          'nobody has the address; they have set no password; another password; they are blocked, or being erased',
        ),
      user_id: userId.optional(),
    },
    ['ip', 'reason', 'user_id'],
  ),
  sign_out: defineEvent('Somebody signed out.', { ...request, user_id: userId }),
  'session.ended_everywhere': defineEvent('Somebody signed out in every browser.', {
    ...request,
    user_id: userId,
    sessions: z.int().describe('in how many they were signed in'),
  }),
  'password.reset_requested': defineEvent(
    'Somebody asked for a link by which a password is set.',
    { ...request, user_id: userId.optional().describe("whose address it is; left out where it is nobody's") },
    ['ip', 'user_id'],
  ),
  'password.refused': defineEvent(
    'Somebody who is signed in gave another password than theirs, where they were asked for it again.',
    { ...request, user_id: userId },
    ['ip', 'user_id'],
  ),
  'form.refused': defineEvent(
    'A form of the pages came from another site, or without what proves that it is ours.',
    { ...request, reason: z.enum(['origin', 'token']).describe('which of the two'), user_id: userId.optional() },
    ['ip', 'reason', 'user_id'],
  ),
};
