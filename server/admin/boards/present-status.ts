import type { FastifyRequest } from 'fastify';
import type { StatusCategory } from '../../../contract/status.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import type { StatusInUse } from '../../domain/statuses/list-statuses.ts';
import { showCount, shownName } from '../shell/show.ts';
import { pathOnBoard } from './board-page.ts';

/** A status as the pages show it. */
export interface PresentedStatus {
  key: string;
  /** As parts/status shows it on the board. */
  status: { label: string; category: StatusCategory };
  /** What is different from a status that everybody sees, votes on and comments on. */
  flags: string[];
  ideas: string;
  /** Undefined where nothing awaits approval. */
  pending?: string | undefined;
  /** Where it stands if it is moved; undefined at the ends. */
  before?: number | undefined;
  after?: number | undefined;
  editPath: string;
  movePath: string;
  removePath: string;
}

export function presentStatus(
  request: FastifyRequest,
  account: AccountOfUser,
  slug: string,
  status: StatusInUse,
): PresentedStatus {
  const { key, position, pending_count: pending } = status;
  const path = (verb = '') => pathOnBoard(request, account, slug, `statuses/${key}${verb}`);
  return {
    key,
    status: { label: shownName(status.label), category: status.category },
    flags: [
      ...(status.is_hidden ? ['Hidden'] : []),
      ...(status.allow_votes ? [] : ['No votes']),
      ...(status.allow_comments ? [] : ['No comments']),
    ],
    ideas: status.idea_count === 0 ? 'no ideas' : showCount(status.idea_count, 'idea'),
    pending: pending > 0 ? `${showCount(pending, 'more', 'more')} awaiting approval` : undefined,
    before: position > 1 ? position - 1 : undefined,
    after: position < status.status_count ? position + 1 : undefined,
    editPath: path(),
    movePath: path('/move'),
    removePath: path('/remove'),
  };
}
