import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { text, word } from '../../../contract/text.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import { inTurnAlone, turnsOfMerge } from '../../domain/ideas/lock-ideas.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { copyVotesAhead, mergeIdea } from '../../domain/merging/merge-idea.ts';
import { previewMerge } from '../../domain/merging/preview-merge.ts';
import { placeOf } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import type { Html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import { idFieldOf, idIn, numberIn } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { actOnIdea, changeIdea, type Moderation } from './act-on-board.ts';
import { type ActionProblem, problemOfAction } from './action-problem.ts';
import { ideaNumberIn, ideasPerPage, type ListedIdea, listedIdea } from './idea-search.ts';
import { ideaPath } from './way-back.ts';

const MergeQuery = z.object({ q: text(0, 100).optional(), cursor: word(500).optional() });

interface SearchData {
  source: Link & { score: number };
  searchPath: string;
  kept: { name: string; value: string }[];
  q: string;
  heading: string;
  candidates: ListedIdea[];
  first: Link | undefined;
  next: Link | undefined;
  problem: string | undefined;
}

interface PreviewData {
  source: Link;
  target: Link;
  rows: { name: string; upCount: number; downCount: number; score: number }[];
  votedOnBoth: number;
  action: string;
  targetId: number;
  other: Link;
  formToken: string;
}

const searchPage = definePage<SearchData>('admin/moderation/merge');
const previewPage = definePage<PreviewData>('admin/moderation/merge-preview');

/** Merges an idea into another: a search for it, what would come of it, and then the merge. */
export function serveMerging(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/ideas/:id/merge', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const query = readQuery(MergeQuery, request.query);
    const number = ideaNumberIn(query.q);
    if (number !== undefined) return reply.redirect(previewPath(request, account, number), 303);
    const targetId = numberIn(request, 'target');
    if (targetId === undefined) return showSearch(request, reply, account);
    let page: Html;
    try {
      page = await actOnIdea(server, request, account, idIn(request), op =>
        showPreview(request, account, op, targetId),
      );
    } catch (error) {
      return showSearch(request, reply, account, problemOfTarget(error));
    }
    return sendPage(reply, page);
  });

  app.post('/admin/ideas/:id/merge', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const targetId = idFieldOf(request.body, 'target_id');
    if (targetId === undefined) return showSearch(request, reply, account, noTarget);
    try {
      await merge(request, account, idIn(request), targetId);
    } catch (error) {
      return showSearch(request, reply, account, problemOfTarget(error));
    }
    return reply.redirect(pathIn(request, account, ideaPath(targetId), { notice: 'merged' }), 303);
  });

  async function merge(request: FastifyRequest, account: AccountOfUser, id: number, targetId: number) {
    const turns = turnsOfMerge(id, targetId)({ accountId: account.id });
    const actor = await actOnIdea(server, request, account, id, async op => op.actor);
    await copyVotesAhead({ actor, ...inTurnAlone(server.database, turns) }, id, targetId);
    await changeIdea(server, request, account, id, op => mergeIdea(op, id, targetId), turns);
  }

  /** The search for a target; after one that was refused, it says why. */
  async function showSearch(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    problem?: ActionProblem,
  ) {
    const data = await actOnIdea(server, request, account, idIn(request), op => searchTargets(request, account, op));
    const page = searchPage(frameOf(request, account, 'Merge an idea'), { ...data, problem: problem?.message });
    return sendPage(reply, page, problem?.status ?? 200);
  }
}

const noTarget: ActionProblem = { status: 422, message: 'Choose the idea into which to merge' };
const unknownTarget: ActionProblem = { status: 404, message: 'There is no such idea on this board' };

/** Where the source is what is not there, the search that shows the problem does not find it, either. */
function problemOfTarget(error: unknown): ActionProblem {
  return error instanceof DomainError && error.key === 'not_found' ? unknownTarget : problemOfAction(error);
}

/** The ideas of the board that have the words in the title, those with the most votes first. */
async function searchTargets(
  request: FastifyRequest,
  account: AccountOfUser,
  op: Moderation,
): Promise<Omit<SearchData, 'problem'>> {
  const id = idIn(request);
  const { q, cursor } = readQuery(MergeQuery, request.query);
  const source = await readIdea(op, id);
  if (!source) throw new DomainError('not_found');
  const filter = { q, sort: 'top', isPending: false } as const;
  const page = await listIdeas(op, filter, placeOf({ cursor }, filter.sort, ideasPerPage));
  const path = (parameters: Record<string, string>) =>
    pathIn(request, account, `${ideaPath(id)}/merge`, { ...(q === undefined ? {} : { q }), ...parameters });
  return {
    source: {
      label: shortLine(source.title, 200),
      href: pathIn(request, account, ideaPath(id)),
      score: source.score,
    },
    searchPath: `${ideaPath(id)}/merge`,
    kept: [...new URLSearchParams(pathIn(request, account, '').split('?')[1])].map(([name, value]) => ({
      name,
      value,
    })),
    q: q ?? '',
    heading: q === undefined ? 'The top ideas' : `Ideas with “${shortLine(q, 100, '…')}” in the title`,
    candidates: page.rows
      .filter(idea => idea.id !== id)
      .map(idea => listedIdea(idea, previewPath(request, account, idea.id))),
    first: cursor === undefined ? undefined : { label: 'Back to the first page', href: path({}) },
    next: page.nextCursor === null ? undefined : { label: 'More ideas', href: path({ cursor: page.nextCursor }) },
  };
}

async function showPreview(request: FastifyRequest, account: AccountOfUser, op: Moderation, targetId: number) {
  const id = idIn(request);
  const { idea, target, combined } = await previewMerge(op, id, targetId);
  const source = { label: shortLine(idea.title, 200), href: pathIn(request, account, ideaPath(id)) };
  const into = { label: shortLine(target.title, 200), href: pathIn(request, account, ideaPath(targetId)) };
  const path = pathIn(request, account, `${ideaPath(id)}/merge`);
  return previewPage(frameOf(request, account, 'Merge two ideas'), {
    source,
    target: into,
    rows: [
      { name: source.label, ...tallyOf(idea) },
      { name: into.label, ...tallyOf(target) },
      { name: 'Together', ...tallyOf(combined) },
    ],
    votedOnBoth: combined.voted_on_both,
    action: path,
    targetId,
    other: { label: 'Choose another idea', href: path },
    formToken: formTokenOf(request),
  });
}

function tallyOf({ up_count, down_count, score }: { up_count: number; down_count: number; score: number }) {
  return { upCount: up_count, downCount: down_count, score };
}

function previewPath(request: FastifyRequest, account: AccountOfUser, targetId: number): string {
  return pathIn(request, account, `${ideaPath(idIn(request))}/merge`, { target: String(targetId) });
}
