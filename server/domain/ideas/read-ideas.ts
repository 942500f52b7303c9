import { maxIdsOfRequest } from '../../../contract/limits.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { isPublicReader, type ReadOperation } from '../operation.ts';
import type { Page } from '../pagination.ts';
import { excerptOf, ideaViews, isShownTo, isVisible } from './read-idea.ts';

interface GivenIdeas {
  accountId: number;
  boardId: number;
  ideaIds: readonly number[];
  voterId: number | null;
  isModerator: boolean;
  isPublic: boolean;
  maxBodyLength: number | null;
}

const selectGivenIdeas = query('select_given_ideas', (db, $: Arguments<GivenIdeas>) =>
  ideaViews(db, $.accountId, $.voterId)
    .select(excerptOf($.maxBodyLength))
    .where(i => i('i.id', '=', i.fn.any($.ideaIds)))
    .where('i.board_id', '=', $.boardId)
    .where(i => isVisible(i, $.isModerator))
    .where(s => isShownTo(s, $.isPublic)),
);

/**
 * Reads ideas in the order of the given ids. Skips ideas that do not exist or that the reader may not see. An id that
 * occurs twice gives one idea.
 */
export async function readIdeas(
  op: ReadOperation,
  ideaIds: readonly number[],
  maxBodyLength?: number,
): Promise<Page<RowOf<typeof selectGivenIdeas>>> {
  const { accountId, boardId, voterId, isModerator } = op.actor;
  const isPublic = isPublicReader(op.actor);
  const found = await op.query(selectGivenIdeas, {
    accountId,
    boardId,
    ideaIds,
    voterId,
    isModerator,
    isPublic,
    maxBodyLength: maxBodyLength ?? null,
  });
  const byId = new Map(found.map(idea => [idea.id, idea]));
  const rows = [...new Set(ideaIds)].flatMap(id => byId.get(id) ?? []);
  const place = { perPage: maxIdsOfRequest, page: 1, offset: 0, cursor: undefined };
  return { rows, place, hasMore: false, nextCursor: null };
}
