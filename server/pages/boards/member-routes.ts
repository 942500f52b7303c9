import { CommentInput } from '../../../contract/comments.ts';
import { VoteValue } from '../../../contract/idea.ts';
import { IdeaInput } from '../../../contract/ideas.ts';
import { commentOnIdea } from '../../domain/comments/comments.ts';
import { createIdea } from '../../domain/ideas/create-idea.ts';
import { findSimilarIdeasInTime, type SimilarIdea } from '../../domain/ideas/find-similar.ts';
import { turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import { followIdea, unfollowIdea } from '../../domain/notifications/followers.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { castOwnVote } from '../../domain/votes/cast-vote.ts';
import { hashNetwork } from '../../domain/votes/vote-networks.ts';
import { networkOf } from '../../http/rate-limit.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { type PersonOperation, problemOfAction } from '../shell/act.ts';
import { FormProblem, newFormId, type Problem, requireFirst } from '../shell/form.ts';
import type { Route } from '../shell/visit.ts';
import { listPathOf } from './board-page.ts';
import { showIdea } from './idea-page.ts';
import { type BoardVisit, boardOf, changeAsMember, pathOn, pathToComment } from './opened-board.ts';
import { pathToFollowed } from './own-page.ts';
import { describeClosed } from './present-closed.ts';
import { frameOfBoard, presentIdea, votingOn } from './present-idea.ts';
import { tagPathsOf } from './tag-filter.ts';

/** The pages and forms for members to submit ideas, vote, comment and follow ideas. */
export const memberRoutes: Route<AccountOfUser | undefined>[] = [
  { path: '/b/:slug/new', show: showNewIdea, run: submitIdea, problemOf: problemOfAction },
  changeRoute('vote', async (op, ideaId, visit) => {
    const value = VoteValue.safeParse(visit.field('value'));
    if (!value.success) throw new FormProblem(422, t('boards.vote.refused'));
    await castOwnVote(op, ideaId, value.data, hashNetwork(visit.server.appKey, networkOf(visit.request.ip)));
    // A form in a list contains the query of the list, so that the browser returns to the same list.
    const list = visit.field('list');
    if (list.startsWith('?')) return `${listPathOf(visit.request, list)}#idea-${ideaId}`;
    return pathOn(visit.request, `/ideas/${ideaId}`, { notice: 'voted' });
  }),
  changeRoute('comments', async (op, ideaId, visit) => {
    const input = CommentInput.safeParse({ body: visit.field('body') });
    if (!input.success) throw new FormProblem(422, t('boards.idea.comment_refused'));
    const { id: commentId } = await commentOnIdea(op, ideaId, input.data.body);
    return pathToComment(visit.request, { ideaId, commentId }, { notice: 'commented' });
  }),
  changeRoute('follow', async (op, ideaId, visit) => {
    const { accountId, userId } = op.actor;
    const isWanted = visit.field('follow') !== 'no';
    if (isWanted) await followIdea(op, accountId, { ideaId, userId });
    else await unfollowIdea(op, { ideaId, userId }, accountId);
    if (!isWanted && visit.field('from') === 'list') return pathToFollowed(visit, 'unfollowed');
    return pathOn(visit.request, `/ideas/${ideaId}`, { notice: isWanted ? 'followed' : 'unfollowed' });
  }),
];

/** Defines a form on the page of an idea. If the server refuses the change, the page shows the reason. */
function changeRoute(
  form: string,
  work: (op: PersonOperation, ideaId: number, visit: BoardVisit) => Promise<string>,
): Route<AccountOfUser | undefined> {
  return {
    path: `/b/:slug/ideas/:id/${form}`,
    // A refused form leaves the browser on this path, so a person may open the path again with GET.
    show: visit => pathOn(visit.request, `/ideas/${visit.id()}`),
    run: visit => {
      const ideaId = visit.id();
      return changeAsMember(visit, op => work(op, ideaId, visit), [turnOnIdea(ideaId)]);
    },
    again: showIdea,
    problemOf: problemOfAction,
  };
}

/**
 * Shows the form for a new idea. If the person has sent the form, or the query has a title, the page also shows similar
 * ideas. A script of the page requests the page again while the person types a title.
 */
async function showNewIdea(visit: BoardVisit, problem?: Problem) {
  const title = visit.isSent ? visit.field('title') : visit.parameter('title');
  const similar = title === '' ? [] : await findSimilar(visit, { title: shortLine(title, 200), body: '' });
  return showForm(visit, title, similar, problem);
}

function findSimilar({ request, server }: BoardVisit, text: { title: string; body: string }): Promise<SimilarIdea[]> {
  return findSimilarIdeasInTime(server.database, boardOf(request).read.actor, text);
}

function showForm(visit: BoardVisit, title: string, similar: SimilarIdea[], problem?: Problem) {
  const { board } = boardOf(visit.request);
  const voting = votingOn(visit, board);
  const data = {
    board: { label: shortLine(board.name, 100), href: pathOn(visit.request) },
    action: pathOn(visit.request, '/new'),
    formId: newFormId(),
    title,
    body: visit.field('body'),
    seenFor: similar.length > 0 ? title : '',
    isStopped: visit.isSent && problem === undefined,
    closed: problem ? undefined : describeClosed(board, 'submissions', visit.server.clock.now()),
    similar: similar.map(idea => ({
      ...presentIdea(idea, tagPathsOf(visit.request)),
      href: pathOn(visit.request, `/ideas/${idea.id}`),
      ...voting(idea),
    })),
  };
  return visit.page('new-idea', frameOfBoard(visit, board, { page: t('boards.submit_idea') }), data, { problem });
}

/**
 * Creates the idea. If the board has similar ideas that the person has not seen yet, shows the similar ideas and
 * creates nothing.
 */
async function submitIdea(visit: BoardVisit) {
  const input = IdeaInput.safeParse({ title: visit.field('title'), body: visit.field('body') });
  if (!input.success) throw new FormProblem(422, refusedText(input.error));
  const title = visit.field('title');
  if (visit.field('seen_for') !== title) {
    const similar = await findSimilar(visit, input.data);
    if (similar.length > 0) return showForm(visit, title, similar);
  }
  const idea = await changeAsMember(visit, async op => {
    await requireFirst(op, visit.request.body);
    return createIdea(op, input.data);
  });
  // Does not return the path of the idea's page, because only moderators can open the page of a pending idea.
  if (idea.moderation_state === 'pending' && !boardOf(visit.request).member?.isModerator) {
    return pathOn(visit.request, '', { notice: 'awaits_approval' });
  }
  return pathOn(visit.request, `/ideas/${idea.id}`, { notice: 'submitted' });
}

/** Returns the error message for a form with an invalid title or body of an idea. */
export function refusedText({ issues }: { issues: readonly { path: readonly PropertyKey[] }[] }): string {
  return issues[0]?.path[0] === 'title' ? t('boards.new_idea.title_refused') : t('boards.new_idea.body_refused');
}
