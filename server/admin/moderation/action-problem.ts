import { DomainError } from '../../domain/domain-error.ts';
import { problemOf } from '../shell/form.ts';

/** Why something could not be done to an idea, to be shown above the form that asked for it. */
export interface ActionProblem {
  status: number;
  message: string;
}

/** What the domain refuses, in the words of its pages. What is not found, and every other error, has a page of its own. */
export function problemOfAction(error: unknown): ActionProblem {
  const key = error instanceof DomainError ? (error as DomainError).key : undefined;
  return (key && problems[key]) ?? problemOf(error);
}

const problems: Partial<Record<DomainError['key'], ActionProblem>> = {
  board_frozen: {
    status: 423,
    message: 'The board is frozen: ideas on it cannot be changed until an owner or admin unfreezes it',
  },
  invalid_status: { status: 422, message: 'The board has no such status: choose one of those that are there now' },
  invalid_tag: { status: 422, message: 'The board has no such tag: choose one of those that are there now' },
  idea_not_published: { status: 422, message: 'That idea awaits approval: approve or reject it first' },
  idea_already_merged: { status: 422, message: 'That idea is merged into another already' },
  merge_into_self: { status: 422, message: 'An idea cannot be merged into itself: choose another one' },
};
