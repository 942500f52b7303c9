import { IdeaInput } from '../../../contract/ideas.ts';
import { changeMinutes } from '../../../contract/limits.ts';
import { checkAuthor, checkChangeWindow } from '../../domain/change-rights.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { checkUnused, deleteIdea, editIdea } from '../../domain/ideas/change-idea.ts';
import { checkPublished, turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { editedVersion, isConflict, problemOfAction } from '../shell/act.ts';
import { FormProblem, type Problem } from '../shell/form.ts';
import type { Question, Route } from '../shell/visit.ts';
import { askAgain, readReason, reasonField } from './change-reason.ts';
import { refusedText } from './member-routes.ts';
import { type BoardVisit, boardOf, changeAsMember, memberOf, pathOn } from './opened-board.ts';
import { frameOfBoard } from './present-idea.ts';

/** The pages where people edit and delete their own ideas, and where moderators edit and delete the ideas of others. */
export const changeIdeaRoutes: Route<AccountOfUser | undefined>[] = [
  {
    path: '/b/:slug/ideas/:id/edit',
    show: showEdit,
    run: async visit => {
      const ideaId = visit.id();
      const input = IdeaInput.safeParse({ title: visit.field('title'), body: visit.field('body') });
      if (!input.success) throw new FormProblem(422, refusedText(input.error));
      const ifUpdatedAt = visit.field('if_updated_at') || undefined;
      const changes = { ...input.data, ifUpdatedAt, reason: readReason(visit) };
      await changeAsMember(visit, op => editIdea(op, ideaId, changes), [turnOnIdea(ideaId)]);
      return pathOn(visit.request, `/ideas/${ideaId}`, { notice: 'idea_edited' });
    },
    problemOf: problemOfAction,
  },
  {
    path: '/b/:slug/ideas/:id/delete',
    ask: askToDelete,
    run: async visit => {
      const ideaId = visit.id();
      const reason = readReason(visit);
      await changeAsMember(visit, op => deleteIdea(op, ideaId, reason), [turnOnIdea(ideaId)]);
      return pathOn(visit.request, '', { notice: 'idea_deleted' });
    },
    again: askAgain(askToDelete),
    problemOf: problemOfAction,
  },
];

/**
 * Asks whether to delete the idea. Throws if the deletion would be refused because of the votes and comments of other
 * people, or because of merged ideas. So nobody has to confirm a deletion that is then refused.
 */
async function askToDelete(visit: BoardVisit): Promise<Question> {
  const { board, idea } = await readChangeable(visit);
  await checkUnused(memberOf(visit), idea.id, idea.author_id);
  const button = t('boards.delete_idea.button');
  return {
    heading: t('boards.delete_idea.heading_html', { title: shortLine(idea.title, 200) }),
    explanation: t('boards.delete_idea.explanation', {
      comments: t('boards.comments', { count: idea.comment_count }),
      votes: t('boards.delete_idea.votes', { count: idea.up_count + idea.down_count }),
    }),
    field: reasonField(visit, idea, 'of_idea'),
    button,
    frame: frameOfBoard(visit, board, { page: button }),
    back: { label: t('shell.labels.cancel'), href: pathOn(visit.request, `/ideas/${idea.id}`) },
  };
}

/**
 * Shows the form for editing an idea. If the server has refused the form, the page keeps the texts that the person
 * entered. If somebody else has changed the idea meanwhile, the page also shows the new texts of the idea, and the form
 * can then replace them.
 */
async function showEdit(visit: BoardVisit, problem?: Problem) {
  const { board, idea } = visit.isSent ? await readTexts(visit) : await readChangeable(visit);
  const kept = (name: 'title' | 'body') => (visit.isSent ? visit.field(name) : idea[name]);
  const data = {
    action: visit.request.url,
    title: kept('title'),
    body: kept('body'),
    current: isConflict(problem) && {
      label: t('boards.edit_idea.current'),
      title: shortLine(idea.title, 200),
      text: linkedText(idea.body),
    },
    updatedAt: editedVersion(visit, idea.updated_at, problem),
    minutes: changeMinutes,
    reason: reasonField(visit, idea, 'of_change'),
    back: pathOn(visit.request, `/ideas/${idea.id}`),
  };
  return visit.page('edit-idea', frameOfBoard(visit, board, { page: t('boards.edit_idea.title') }), data, { problem });
}

async function readTexts(visit: BoardVisit) {
  const idea = await readIdea(memberOf(visit), visit.id());
  if (!idea) throw new DomainError('not_found');
  return { board: boardOf(visit.request).board, idea };
}

/**
 * Reads an idea that the person may edit or delete now. The edit or deletion itself also checks other conditions, such
 * as whether the board accepts ideas.
 */
async function readChangeable(visit: BoardVisit) {
  const read = await readTexts(visit);
  const op = memberOf(visit);
  checkAuthor(op, read.idea);
  checkChangeWindow(op, read.idea);
  checkPublished(read.idea);
  return read;
}
