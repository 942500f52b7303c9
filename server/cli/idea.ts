import type { Command } from 'commander';
import { requireBoard } from '../domain/boards/find-board.ts';
import { approveIdea } from '../domain/moderation/approve-idea.ts';
import { listPendingIdeas } from '../domain/moderation/list-pending-ideas.ts';
import { rejectIdea } from '../domain/moderation/reject-idea.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, limitOption, parsePositive } from './command.ts';
import { formatTable, type OutputOptions, print, shorten } from './output.ts';

interface AccountOptions extends OutputOptions {
  account?: string;
}

interface PendingOptions extends AccountOptions {
  board?: string;
  limit: number;
}

interface RejectOptions extends AccountOptions {
  reason: string;
}

export function addIdeaCommands(program: Command) {
  const noun = program.command('idea').description('the approval queue of boards with pre-moderation');

  addVerb(
    noun,
    'pending',
    'Lists the ideas that await approval; who has waited longest stands first.',
    'idea pending --account acme',
  )
    .addOption(accountOption())
    .option('--board <slug>', 'only this board')
    .addOption(limitOption())
    .action(pending);

  addVerb(noun, 'approve', 'Publishes an idea that awaits approval.', 'idea approve 42 --account acme')
    .argument('<id>', 'the id of the idea', parsePositive)
    .addOption(accountOption())
    .action(approve);

  addVerb(noun, 'reject', 'Rejects an idea that awaits approval.', 'idea reject 42 --account acme --reason "Spam"')
    .argument('<id>', 'the id of the idea', parsePositive)
    .addOption(accountOption())
    .requiredOption('--reason <text>', 'why, for the author')
    .action(reject);
}

async function pending({ account: slug, board, limit, ...output }: PendingOptions) {
  const ideas = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    const boardId = board === undefined ? null : (await requireBoard(admin, accountId, board)).id;
    return listPendingIdeas(admin, accountId, boardId, limit);
  });
  print(output, ideas, rows =>
    formatTable(rows, {
      ID: idea => idea.id,
      BOARD: idea => idea.board,
      TITLE: idea => shorten(idea.title),
      AUTHOR: idea => idea.author,
      SUBMITTED: idea => idea.created_at,
    }),
  );
}

async function approve(ideaId: number, { account: slug, ...output }: AccountOptions) {
  const isChanged = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    return approveIdea(admin, accountId, ideaId);
  });
  print(output, { id: ideaId, moderation_state: 'published', is_changed: isChanged }, () =>
    isChanged ? `Idea ${ideaId} is published.` : `Idea ${ideaId} was published already.`,
  );
}

async function reject(ideaId: number, { account: slug, reason, ...output }: RejectOptions) {
  const isChanged = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    return rejectIdea(admin, accountId, ideaId, reason);
  });
  print(output, { id: ideaId, moderation_state: 'rejected', is_changed: isChanged }, () =>
    isChanged ? `Idea ${ideaId} is rejected.` : `Idea ${ideaId} was rejected already.`,
  );
}
