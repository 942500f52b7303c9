import { z } from 'zod';
import { text } from '../../../contract/text.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import { inTurnAlone, turnsOfMerge } from '../../domain/ideas/lock-ideas.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { copyVotesAhead, mergeIdea, unmergeIdea } from '../../domain/merging/merge-idea.ts';
import { previewMerge } from '../../domain/merging/preview-merge.ts';
import { problemOfAction } from '../../pages/shell/act.ts';
import { idFieldOf, type Problem } from '../../pages/shell/form.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import { headingOfSearch, hiddenFieldsOf, ideaNumberIn, ideasPerPage, listedIdea } from './idea-list-routes.ts';
import { linkTo } from './idea-page.ts';
import { presentSimilar } from './similar-ideas.ts';
import { ideaPath, wayBack, wayOf } from './way-back.ts';

const MergeQuery = z.object({ q: text(0, 100).optional() });

/**
 * The page where a moderator searches for the target of a merge, sees a preview and merges. Another page asks for
 * confirmation and then undoes a merge.
 */
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
      const back = { label: t('shell.labels.back'), href: wayBack(visit, ideaPath(visit.id())) };
      throw new Refusal(status, t('shell.refusal.conflict'), `${message}.`, back);
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
  if (targetId === undefined) return showSearch(visit, { status: 422, message: t('moderation.merge.no_target') });
  const id = visit.id();
  const turns = turnsOfMerge(id, targetId)({ accountId: visit.account.id });
  const actor = await actOnIdea(visit, id, async op => op.actor);
  await copyVotesAhead({ actor, ...inTurnAlone(visit.server.database, turns) }, id, targetId);
  await changeIdea(visit, id, op => mergeIdea(op, id, targetId), turns);
  return wayBack(visit, ideaPath(targetId), { notice: 'merged' }, { ideaId: targetId });
}

/**
 * Returns the message for a refused merge. Here, not_found means that the target idea does not exist, because a missing
 * source idea gets a 404 page.
 */
function problemOfTarget(error: unknown): Problem {
  const isUnknown = error instanceof DomainError && error.key === 'not_found';
  return isUnknown ? { status: 404, message: t('moderation.merge.unknown_target') } : problemOfAction(error);
}

async function showSearch(visit: Visit, problem?: Problem) {
  const id = visit.id();
  const { q } = readQuery(MergeQuery, visit.request.query);
  const { actor, source, page } = await actOnIdea(visit, id, async op => {
    const idea = await readIdea(op, id);
    if (!idea) throw new DomainError('not_found');
    const filter = { q, sort: 'top', isPending: false } as const;
    return { actor: op.actor, source: idea, page: await listIdeas(op, filter, visit.place(filter.sort, ideasPerPage)) };
  });
  const isFirst = q === undefined && visit.parameter('cursor') === '';
  const similar = isFirst ? await presentSimilar(visit, actor, source, other => previewPath(visit, other)) : [];
  const shownIds = [id, ...similar.map(idea => idea.id)];
  const path = `${ideaPath(id)}/merge`;
  const data = {
    source: { label: linkTo(visit, source).label, href: wayBack(visit, ideaPath(id)) },
    searchPath: path,
    kept: hiddenFieldsOf(visit.path('', wayOf(visit))),
    q: q ?? '',
    similar,
    heading: q === undefined ? t('moderation.merge.top_ideas') : headingOfSearch(q),
    candidates: page.rows
      .filter(idea => !shownIds.includes(idea.id))
      .map(idea => listedIdea(idea, previewPath(visit, idea.id))),
    ...visit.pageLinks(path, 'cursor', page.nextCursor, {
      kept: { ...wayOf(visit), ...(q === undefined ? {} : { q }) },
    }),
  };
  return visit.page('moderation/merge', t('moderation.merge.title'), data, { problem });
}

async function showPreview(visit: Visit, targetId: number) {
  const id = visit.id();
  const { idea, target, combined } = await actOnIdea(visit, id, op => previewMerge(op, id, targetId));
  const path = visit.path(`${ideaPath(id)}/merge`, wayOf(visit));
  const [from, into] = [linkTo(visit, { id, title: idea.title }), linkTo(visit, { id: targetId, title: target.title })];
  const tallies = [
    { name: from.label, ...idea },
    { name: into.label, ...target },
    { name: t('moderation.merge_preview.together'), ...combined },
  ];
  return visit.page('moderation/merge-preview', t('moderation.merge_preview.title'), {
    source: { ...from, href: wayBack(visit, ideaPath(id)) },
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
    other: { label: t('moderation.merge_preview.choose_another'), href: path },
  });
}

function previewPath(visit: Visit, targetId: number): string {
  return visit.path(`${ideaPath(visit.id())}/merge`, { ...wayOf(visit), target: String(targetId) });
}

/** Asks for confirmation before an unmerge, because the server notifies the idea's followers of an unmerge. */
async function askToUnmerge(visit: Visit): Promise<Question> {
  const id = visit.id();
  const { source, target } = await actOnIdea(visit, id, async op => {
    const idea = await readIdea(op, id);
    return { source: idea, target: idea?.merged_into_id ? await readIdea(op, idea.merged_into_id) : undefined };
  });
  if (!source) throw new DomainError('not_found');
  if (!target) {
    const own = { label: t('moderation.unmerge.back'), href: visit.path(ideaPath(id)) };
    throw new Refusal(409, t('moderation.unmerge.not_merged'), t('moderation.unmerge.nothing_to_undo'), own);
  }
  return {
    heading: t('moderation.unmerge.heading_html', { title: shortLine(source.title, 200) }),
    explanation: t('moderation.unmerge.explanation', { target: shortLine(target.title, 200) }),
    button: t('moderation.unmerge.button'),
    isHarmless: true,
    back: { label: t('moderation.unmerge.keep'), href: wayBack(visit, ideaPath(id)) },
  };
}
