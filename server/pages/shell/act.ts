import { type ErrorKey, errors } from '../../../contract/errors.ts';
import { changeMinutes, maxTagsOfIdea } from '../../../contract/limits.ts';
import type { Administration } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type Actor, type AuditedOperation, actingIn } from '../../domain/operation.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { presentTime } from '../../domain/time.ts';
import { t } from '../../text/catalogue.ts';
import { type Problem, problemOf } from './form.ts';
import type { Visit } from './visit.ts';

/** The context of an operation on a board by a signed-in person. */
export type PersonOperation = AuditedOperation;

/**
 * Runs the function `work` in a transaction, in the name of the signed-in person. `find` returns the person as an actor
 * on the board, or throws.
 */
export function actAs<T>(
  visit: Visit<AccountOfUser | undefined>,
  find: (db: Administration) => Promise<Actor>,
  work: (op: PersonOperation) => Promise<T>,
): Promise<T> {
  return visit.administer(async admin => work(actingIn(admin, await find(admin))));
}

/** Returns the message for an error of an operation. Rethrows errors that have their own pages, such as not_found. */
export function problemOfAction(error: unknown): Problem {
  const key = error instanceof DomainError ? (error as DomainError).key : undefined;
  const message = key && reasonOf(key);
  return message ? { status: errors[key].status, message } : problemOf(error);
}

/** Whether the server refused a form because somebody else has changed the text meanwhile. */
export function isConflict(problem: Problem | undefined): boolean {
  return problem?.status === errors.idea_changed.status;
}

/**
 * Returns the time for the field `if_updated_at` of a form that edits a text. With this time, the server notices if
 * somebody else has changed the text meanwhile. So a refused form keeps its time. Only after a conflict does it get the
 * new time: then the person has seen that the text has changed, and may save.
 */
export function editedVersion(visit: Visit<AccountOfUser | undefined>, updatedAt: string, problem?: Problem): string {
  const sent = visit.isSent && !isConflict(problem) ? visit.field('if_updated_at') : '';
  return sent || presentTime(updatedAt);
}

/** The keys of the errors that a page explains to the person. */
const explained = [
  'board_frozen',
  'submissions_not_open_yet',
  'submissions_closed',
  'voting_not_open_yet',
  'voting_closed',
  'status_votes_closed',
  'status_comments_closed',
  'consecutive_comment',
  'invalid_status',
  'invalid_tag',
  'too_many_tags',
  'idea_not_published',
  'idea_already_merged',
  'merge_into_self',
  'not_author',
  'change_window_closed',
  'idea_in_use',
  'idea_has_merged',
  'idea_changed',
  'comment_changed',
  'note_changed',
  'unauthorized',
] as const satisfies ErrorKey[];

/** Returns the reason of a refusal as text without a period. Returns undefined for errors that have their own pages. */
export function reasonOf(key: ErrorKey): string | undefined {
  const found = explained.find(one => one === key);
  return found && t(`shell.refused.${found}`, { max: maxTagsOfIdea, minutes: changeMinutes });
}
