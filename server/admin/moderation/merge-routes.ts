import { z } from 'zod';
import { text, word } from '../../../contract/text.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import { inTurnAlone, turnsOfMerge } from '../../domain/ideas/lock-ideas.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { copyVotesAhead, mergeIdea, unmergeIdea } from '../../domain/merging/merge-idea.ts';
import { previewMerge } from '../../domain/merging/preview-merge.ts';
import { placeOf } from '../../domain/pagination.ts';
import { definePage } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { shortLine } from '../../text/plain-text.ts';
import { idFieldOf, type Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { pageLinks, type Question, type Route, type Visit } from '../shell/visit.ts';
import { actOnIdea, changeIdea, problemOfAction } from './act-on-board.ts';
import { headingOfSearch, ideaNumberIn, ideasPerPage, listedIdea, parametersOf } from './idea-list-routes.ts';
import { linkTo } from './idea-page.ts';
import { ideaPath, wayBack, wayOf } from './way-back.ts';

const MergeQuery = z.object({ q: text(0, 100).optional(), cursor: word(500).optional() });

const searchPage = definePage<object>('admin/moderation/merge');
const previewPage = definePage<object>('admin/moderation/merge-preview');

/** Merges an idea into another after a search and a preview, and undoes a merge after a question. */
export const mergeRoutes: Route[] = [
  { path: '/admin/ideas/:id/merge', show: showMerge, run: merge, again: showSearch, problemOf: problemOfTarget },
  {
    path: '/admin/ideas/:id/unmerge',
    ask: askToUnmerge,
    run: async visit => {
      const id = visit.id();
      const turns = turnsOfMerge(id)({ accountId: visit.account.id });
      await changeIdea(visit, id, op => unmergeIdea(op, id), turns);
      return wayBack(visit, ideaPath(id), { notice: 'unmerged' });
    },
    problemOf: problemOfAction,
    again: (visit, { status, message }) => {
      const back = { label: 'Back', href: wayBack(visit, ideaPath(visit.id())) };
      throw new Refusal(status, 'That cannot be done now', `${message}.`, back);
    },
  },
];

async function showMerge(visit: Visit) {
  const number = ideaNumberIn(readQuery(MergeQuery, visit.request.query).q);
  if (number !== undefined) return previewPath(visit, number);
  const targetId = visit.number('target');
  if (targetId === undefined) return showSearch(visit);
  try {
    return await showPreview(visit, targetId);
  } catch (error) {
    return showSearch(visit, problemOfTarget(error));
  }
}

async function merge(visit: Visit) {
  const targetId = idFieldOf(visit.request.body, 'target_id');
  if (targetId === undefined) return showSearch(visit, noTarget);
  const id = visit.id();
  const turns = turnsOfMerge(id, targetId)({ accountId: visit.account.id });
  const actor = await actOnIdea(visit, id, async op => op.actor);
  await copyVotesAhead({ actor, ...inTurnAlone(visit.server.database, turns) }, id, targetId);
  await changeIdea(visit, id, op => mergeIdea(op, id, targetId), turns);
  return visit.path(ideaPath(targetId), { notice: 'merged' });
}

const noTarget: Problem = { status: 422, message: 'Choose the idea into which to merge' };
const unknownTarget: Problem = { status: 404, message: 'There is no such idea on this board' };

/** If the source is missing, the search page that shows the problem answers not_found itself. */
function problemOfTarget(error: unknown): Problem {
  return error instanceof DomainError && error.key === 'not_found' ? unknownTarget : problemOfAction(error);
}

/** Searches for a target by its title, the ideas with the most votes first. Shows why a target was refused. */
async function showSearch(visit: Visit, problem?: Problem) {
  const id = visit.id();
  const { q, cursor } = readQuery(MergeQuery, visit.request.query);
  const { source, page } = await actOnIdea(visit, id, async op => {
    const idea = await readIdea(op, id);
    if (!idea) throw new DomainError('not_found');
    const filter = { q, sort: 'top', isPending: false } as const;
    return { source: idea, page: await listIdeas(op, filter, placeOf({ cursor }, filter.sort, ideasPerPage)) };
  });
  const path = `${ideaPath(id)}/merge`;
  const kept = q === undefined ? {} : { q };
  const data = {
    source: linkTo(visit, source),
    searchPath: path,
    kept: parametersOf(visit.path('')),
    q: q ?? '',
    heading: q === undefined ? 'The top ideas' : headingOfSearch(q),
    candidates: page.rows.filter(idea => idea.id !== id).map(idea => listedIdea(idea, previewPath(visit, idea.id))),
    ...pageLinks(parameters => visit.path(path, { ...kept, ...parameters }), {
      first: cursor !== undefined && 'Back to the first page',
      next: page.nextCursor && ['More ideas', { cursor: page.nextCursor }],
    }),
  };
  return visit.page(searchPage, 'Merge an idea', data, { problem });
}

async function showPreview(visit: Visit, targetId: number) {
  const id = visit.id();
  const { idea, target, combined } = await actOnIdea(visit, id, op => previewMerge(op, id, targetId));
  const path = visit.path(`${ideaPath(id)}/merge`);
  const [from, into] = [linkTo(visit, { id, title: idea.title }), linkTo(visit, { id: targetId, title: target.title })];
  const tallies = [
    { name: from.label, ...idea },
    { name: into.label, ...target },
    { name: 'Together', ...combined },
  ];
  return visit.page(previewPage, 'Merge two ideas', {
    source: from,
    target: into,
    rows: tallies.map(({ name, up_count, down_count, score }) => ({
      name,
      upCount: up_count,
      downCount: down_count,
      score,
    })),
    votedOnBoth: combined.voted_on_both,
    action: path,
    targetId,
    other: { label: 'Choose another idea', href: path },
  });
}

function previewPath(visit: Visit, targetId: number): string {
  return visit.path(`${ideaPath(visit.id())}/merge`, { target: String(targetId) });
}

/** Asks on the page of either idea, because the followers are told. */
async function askToUnmerge(visit: Visit): Promise<Question> {
  const id = visit.id();
  const { source, target } = await actOnIdea(visit, id, async op => {
    const idea = await readIdea(op, id);
    return { source: idea, target: idea?.merged_into_id ? await readIdea(op, idea.merged_into_id) : undefined };
  });
  if (!source) throw new DomainError('not_found');
  if (!target) {
    const own = { label: 'To the idea', href: visit.path(ideaPath(id)) };
    throw new Refusal(409, 'It is not merged', 'There is nothing to undo.', own);
  }
  return {
    title: 'Undo a merge',
    verb: 'Undo the merge of',
    name: `“${shortLine(source.title, 200)}”`,
    explanation: `It stands by itself again with its own votes, and “${shortLine(target.title, 200)}” keeps those that were cast on it. Followers are told.`,
    action: visit.path(`${ideaPath(id)}/unmerge`, wayOf(visit)),
    button: 'Undo the merge',
    back: { label: 'Leave it merged', href: wayBack(visit, ideaPath(id)) },
  };
}
