import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { turnsOfMerge } from '../../domain/ideas/lock-ideas.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { unmergeIdea } from '../../domain/merging/merge-idea.ts';
import { shortLine } from '../../text/plain-text.ts';
import { idIn } from '../shell/form.ts';
import { askFor } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import { nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import { problemOfAction } from './action-problem.ts';
import { ideaPath, wayBack, wayOf } from './way-back.ts';

/** Takes a merge back, from the page of either idea, after a question: its followers are told. */
export function serveUnmerging(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/ideas/:id/unmerge', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const id = idIn(request);
    const ideas = await actOnIdea(server, request, account, id, async op => {
      const source = await readIdea(op, id);
      return { source, target: source?.merged_into_id ? await readIdea(op, source.merged_into_id) : undefined };
    });
    const own = pathIn(request, account, ideaPath(id));
    if (!ideas.source) throw new DomainError('not_found');
    if (!ideas.target) {
      throw new Refusal(409, 'It is not merged', 'There is nothing to undo.', { label: 'To the idea', href: own });
    }
    return askFor(request, reply, account, {
      title: 'Undo a merge',
      verb: 'Undo the merge of',
      name: `“${shortLine(ideas.source.title, 200)}”`,
      explanation: `It stands by itself again with its own votes, and “${shortLine(ideas.target.title, 200)}” keeps those that were cast on it. Followers are told.`,
      action: pathIn(request, account, `${ideaPath(id)}/unmerge`, wayOf(request)),
      button: 'Undo the merge',
      back: { label: 'Leave it merged', href: wayBack(request, account, ideaPath(id)) },
    });
  });

  app.post('/admin/ideas/:id/unmerge', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const id = idIn(request);
    const back = (parameters: Record<string, string>) => wayBack(request, account, ideaPath(id), parameters);
    try {
      const turns = turnsOfMerge(id)({ accountId: account.id });
      await changeIdea(server, request, account, id, op => unmergeIdea(op, id), turns);
    } catch (error) {
      const { status, message } = problemOfAction(error);
      throw new Refusal(status, 'That cannot be done now', `${message}.`, { label: 'Back', href: back({}) });
    }
    return reply.redirect(back({ notice: 'unmerged' }), 303);
  });
}
