import { Reason } from '../../../contract/ideas.ts';
import { t } from '../../text/catalogue.ts';
import { FormProblem, type Problem } from '../shell/form.ts';
import type { Question } from '../shell/visit.ts';
import { showIdea } from './idea-page.ts';
import { type BoardVisit, memberOf } from './opened-board.ts';

const maxReasonLength = 500;

/**
 * Returns the form field where a moderator explains a change of another person's text. Returns undefined for the
 * moderator's own text.
 */
export function reasonField(visit: BoardVisit, text: { author_id: number }, hint: 'of_idea' | 'of_change') {
  if (text.author_id === memberOf(visit).actor.userId) return undefined;
  return {
    name: 'reason',
    label: t('boards.change_reason.label'),
    hint: t(`boards.change_reason.${hint}`),
    maxlength: maxReasonLength,
    value: visit.field('reason'),
  };
}

/** Reads the reason for the change from the form. Returns undefined if the field is empty. */
export function readReason(visit: BoardVisit): string | undefined {
  const given = visit.field('reason').trim();
  if (given === '') return undefined;
  const reason = Reason.safeParse(given);
  if (!reason.success) throw new FormProblem(422, t('boards.change_reason.refused'));
  return reason.data;
}

/**
 * Answers a refused deletion. If the person can send the form again, shows the question again with the entered reason.
 * Otherwise shows the idea.
 */
export function askAgain(ask: (visit: BoardVisit) => Promise<Question>) {
  return async (visit: BoardVisit, problem: Problem) =>
    problem instanceof FormProblem ? visit.question(await ask(visit), problem) : showIdea(visit, problem);
}
