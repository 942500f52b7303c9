import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { ModerationState } from '../../entities/idea.ts';
import type { Operation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { isVisible } from './read-idea.ts';

/*
 * The lists of the ideas of a board that a person submitted, voted on or follows, the newest idea first. Their order is
 * the order of the idea ids, so each list reads its rows from an index and stops after a page. PostgreSQL plans these
 * queries for each call, because the number of rows differs much between people.
 */

interface PlaceInList {
  accountId: number;
  boardId: number;
  beforeId: number;
  offset: number;
  limit: number;
}

const options = { isPrepared: false };

/** The name that cursors contain for the sort order of a person's lists of submitted, voted and followed ideas. */
export const ownSort = 'own';

/**
 * Includes pending and rejected ideas. The selected columns are the only columns of a pending or rejected idea that its
 * author may see.
 */
const selectSubmitted = query(
  'select_submitted_ideas',
  (db, $: Arguments<PlaceInList & { userId: number }>) =>
    db
      .selectFrom('ideas as i')
      .innerJoin('statuses as s', join => join.onRef('s.id', '=', 'i.status_id').on('s.account_id', '=', $.accountId))
      .select(['i.id', 'i.title', 'i.moderation_state', 'i.rejection_reason', 'i.created_at as at'])
      .select(['s.label as status_label', 's.category as status_category'])
      .where(i => i.and({ 'i.account_id': $.accountId, 'i.board_id': $.boardId, 'i.author_id': $.userId }))
      .where('i.moderation_state', '<>', 'deleted')
      .where('i.id', '<', $.beforeId)
      .$narrowType<{ moderation_state: Exclude<ModerationState, 'deleted'> }>()
      .orderBy('i.id', 'desc')
      .offset($.offset)
      .limit($.limit),
  options,
);

/**
 * Leaves out votes that a merge copied to another idea. The list contains only the idea that the person voted on
 * directly.
 */
const selectVoted = query(
  'select_voted_ideas',
  (db, $: Arguments<PlaceInList & { voterId: number; isModerator: boolean }>) =>
    db
      .selectFrom('votes as v')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'v.idea_id').on('i.account_id', '=', $.accountId))
      .innerJoin('statuses as s', join => join.onRef('s.id', '=', 'i.status_id').on('s.account_id', '=', $.accountId))
      .select(['i.id', 'i.title', 'v.value', 'v.created_at as at'])
      .select(['s.label as status_label', 's.category as status_category'])
      .where(v => v.and({ 'v.account_id': $.accountId, 'v.voter_id': $.voterId, 'v.carried_from_id': null }))
      .where('v.value', '<>', 0)
      .where('v.idea_id', '<', $.beforeId)
      .where('i.board_id', '=', $.boardId)
      .where(i => isVisible(i, $.isModerator))
      .orderBy('v.idea_id', 'desc')
      .offset($.offset)
      .limit($.limit),
  options,
);

/**
 * The columns that the lists of submitted, voted and followed ideas have in common. `at` is the time when the person
 * submitted, voted on or followed the idea.
 */
export type OwnIdea = RowOf<typeof selectFollowed>;

const selectFollowed = query(
  'select_followed_ideas',
  (db, $: Arguments<PlaceInList & { userId: number; isModerator: boolean }>) =>
    db
      .selectFrom('followers as f')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'f.idea_id').on('i.account_id', '=', $.accountId))
      .innerJoin('statuses as s', join => join.onRef('s.id', '=', 'i.status_id').on('s.account_id', '=', $.accountId))
      .select(['i.id', 'i.title', 'f.created_at as at'])
      .select(['s.label as status_label', 's.category as status_category'])
      .where(f => f.and({ 'f.account_id': $.accountId, 'f.user_id': $.userId }))
      .where('f.idea_id', '<', $.beforeId)
      .where('i.board_id', '=', $.boardId)
      .where(i => isVisible(i, $.isModerator))
      .orderBy('f.idea_id', 'desc')
      .offset($.offset)
      .limit($.limit),
  options,
);

type Reading = Pick<Operation, 'query' | 'actor'>;

/** Lists the ideas that a person submitted to a board. */
export async function listSubmitted(op: Reading, place: Place): Promise<Page<RowOf<typeof selectSubmitted>>> {
  return cut(await op.query(selectSubmitted, { ...op.actor, ...inList(place) }), place);
}

/**
 * Lists the ideas of a board that a person voted on. Ideas on which only the person's tokens voted are not in the list.
 */
export async function listVoted(op: Reading, place: Place): Promise<Page<RowOf<typeof selectVoted>>> {
  return cut(await op.query(selectVoted, { ...op.actor, ...inList(place) }), place);
}

/** Lists the ideas of a board that a person follows. */
export async function listFollowedOnBoard(op: Reading, place: Place): Promise<Page<OwnIdea>> {
  return cut(await op.query(selectFollowed, { ...op.actor, ...inList(place) }), place);
}

function inList({ cursor, offset, perPage }: Place) {
  return { beforeId: cursor?.id ?? Number.MAX_SAFE_INTEGER, offset, limit: perPage + 1 };
}

function cut<Row extends { id: number }>(rows: Row[], place: Place): Page<Row> {
  return cutPage(rows, place, ({ id }) => ({ sort: ownSort, key: 0, id }));
}
