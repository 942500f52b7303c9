import { CommentInput } from '../../../contract/comments.ts';
import { changeMinutes } from '../../../contract/limits.ts';
import { checkAuthor, checkChangeWindow } from '../../domain/change-rights.ts';
import { type CommentOfIdea, deleteComment, editComment } from '../../domain/comments/change-comment.ts';
import { readComment } from '../../domain/comments/comments.ts';
import { turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { editedVersion, isConflict, problemOfAction } from '../shell/act.ts';
import { FormProblem, type Problem } from '../shell/form.ts';
import { shownName } from '../shell/show.ts';
import type { Question, Route } from '../shell/visit.ts';
import { askAgain, readReason, reasonField } from './change-reason.ts';
import { type BoardVisit, boardOf, changeAsMember, memberOf, pathOn, pathToComment } from './opened-board.ts';
import { frameOfBoard } from './present-idea.ts';

/**
 * The pages where people edit and delete their own comments, and where moderators edit and delete the comments of
 * others.
 */
export const commentRoutes: Route<AccountOfUser | undefined>[] = [
  {
    path: '/b/:slug/ideas/:id/comments/:comment/edit',
    show: showEdit,
    run: async visit => {
      const place = placeOf(visit);
      const input = CommentInput.safeParse({ body: visit.field('body') });
      if (!input.success) throw new FormProblem(422, t('boards.comment.refused'));
      const ifUpdatedAt = visit.field('if_updated_at') || undefined;
      const changes = { body: input.data.body, ifUpdatedAt, reason: readReason(visit) };
      await changeAsMember(visit, op => editComment(op, place, changes), [turnOnIdea(place.ideaId)]);
      return pathToComment(visit.request, place, { notice: 'comment_edited' });
    },
    problemOf: problemOfAction,
  },
  {
    path: '/b/:slug/ideas/:id/comments/:comment/delete',
    ask: askToDelete,
    run: async visit => {
      const place = placeOf(visit);
      const reason = readReason(visit);
      await changeAsMember(visit, op => deleteComment(op, place, reason), [turnOnIdea(place.ideaId)]);
      return `${pathOn(visit.request, `/ideas/${place.ideaId}`, { notice: 'comment_deleted' })}#comments`;
    },
    again: askAgain(askToDelete),
    problemOf: problemOfAction,
  },
];

async function askToDelete(visit: BoardVisit): Promise<Question> {
  const comment = await readChangeable(visit);
  const button = t('boards.delete_comment.button');
  return {
    heading: t('boards.delete_comment.heading_html', { author: shownName(comment.author_name) }),
    explanation: t('boards.delete_comment.explanation', { comment: shortLine(comment.body, 300, '') }),
    field: reasonField(visit, comment, 'of_change'),
    button,
    frame: frameOfBoard(visit, boardOf(visit.request).board, { page: button }),
    back: { label: t('shell.labels.cancel'), href: pathToComment(visit.request, placeOf(visit)) },
  };
}

function placeOf(visit: BoardVisit): CommentOfIdea {
  return { ideaId: visit.id(), commentId: visit.id('comment') };
}

/**
 * Shows the form for editing a comment. If the person sent the form too late, the page still shows the entered text. If
 * somebody else has changed the comment meanwhile, the page also shows the other text, and the form can then replace it.
 */
async function showEdit(visit: BoardVisit, problem?: Problem) {
  const { ideaId, commentId } = placeOf(visit);
  const op = memberOf(visit);
  const { board } = boardOf(visit.request);
  const comment = visit.isSent ? await readComment(op, ideaId, commentId) : await readChangeable(visit);
  const data = {
    action: visit.request.url,
    body: visit.isSent ? visit.field('body') : comment.body,
    current: isConflict(problem) && { label: t('boards.edit_comment.current'), text: linkedText(comment.body) },
    updatedAt: editedVersion(visit, comment.edited_at ?? comment.created_at, problem),
    reason: reasonField(visit, comment, 'of_change'),
    minutes: changeMinutes,
    isRefused: problem !== undefined,
    back: pathToComment(visit.request, { ideaId, commentId }),
  };
  return visit.page('edit-comment', frameOfBoard(visit, board, { page: t('boards.edit_comment.title') }), data, {
    problem,
  });
}

/** Reads a comment that the person may edit or delete now. */
async function readChangeable(visit: BoardVisit) {
  const { ideaId, commentId } = placeOf(visit);
  const op = memberOf(visit);
  const comment = await readComment(op, ideaId, commentId);
  checkAuthor(op, comment);
  checkChangeWindow(op, comment);
  return comment;
}
