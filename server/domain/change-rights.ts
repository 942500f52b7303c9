import { changeMinutes } from '../../contract/limits.ts';
import { DomainError } from './domain-error.ts';
import type { Operation } from './operation.ts';

/** An idea or a comment, with the data that decides who may change it. */
interface Authored {
  author_id: number;
  created_at: string;
  /** Whether moderators must approve a text before its publication. Then the author may not edit the published text. */
  needs_approval?: boolean;
}

type Changer = Pick<Operation, 'actor' | 'now'>;

/**
 * Whether the actor may edit or delete an idea or a comment now. A token may change all texts of its issuer. The state
 * of the board and of the idea can still prevent the change.
 */
export function mayChange(by: Changer, text: Authored): boolean {
  return by.actor.isModerator || (text.author_id === by.actor.userId && isInWindow(by, text));
}

/** Throws if the actor is neither the author nor a moderator. */
export function checkAuthor({ actor }: Changer, { author_id }: Authored) {
  if (actor.isModerator || author_id === actor.userId) return;
  throw new DomainError(actor.hasLostModeration ? 'token_issuer_not_moderator' : 'not_author');
}

/**
 * Throws if the actor is not a moderator and the time for changes by the author is over. A moderator may change the
 * text at any time.
 */
export function checkChangeWindow(by: Changer, text: Authored) {
  if (!by.actor.isModerator && !isInWindow(by, text)) throw new DomainError('change_window_closed');
}

function isInWindow({ now }: Changer, { created_at, needs_approval = false }: Authored): boolean {
  return !needs_approval && now.getTime() < Date.parse(created_at) + changeMinutes * 60_000;
}
