import { sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import { placeholderName } from '../erasure/placeholder.ts';
import { voteOfNumber } from '../ideas/present-idea.ts';
import { countsAsVote, isVisible, readIdea } from '../ideas/read-idea.ts';
import type { ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { presentTime } from '../time.ts';

/** The name that cursors contain for the sort order of votes: the newest vote comes first. */
export const voteSort = 'voted';

interface VotesOfIdea {
  accountId: number;
  boardId: number;
  ideaId: number;
  isModerator: boolean;
  cursorKey: string | number | null;
  cursorId: number;
  offset: number;
  limit: number;
}

const selectVotes = query('select_votes', (db, $: Arguments<VotesOfIdea>) =>
  db
    .selectFrom('votes as v')
    .innerJoin('ideas as i', join => join.on('i.account_id', '=', $.accountId).onRef('i.id', '=', 'v.idea_id'))
    .innerJoin('voters as r', join => join.on('r.account_id', '=', $.accountId).onRef('r.id', '=', 'v.voter_id'))
    .leftJoin('users as u', 'u.id', 'r.user_id')
    .leftJoin('api_tokens as t', join => join.on('t.account_id', '=', $.accountId).onRef('t.voter_id', '=', 'r.id'))
    .leftJoin('users as issuer', 'issuer.id', 't.issuer_id')
    .select(['v.value', 'v.voter_id', 'v.carried_from_id', 'v.created_at'])
    .select(['r.user_id', 'u.name as user_name'])
    .select(['t.id as token_id', 't.name as token_name', 't.issuer_id', 'issuer.name as issuer_name'])
    .where(v => v.and({ 'v.account_id': $.accountId, 'v.idea_id': $.ideaId, 'i.board_id': $.boardId }))
    .where(i => isVisible(i, $.isModerator))
    .where('v.value', '!=', 0)
    .where(countsAsVote('v', $.accountId))
    .where(
      sql<boolean>`(${$.cursorKey}::timestamptz is null or (v.created_at, v.voter_id) < (${$.cursorKey}, ${$.cursorId}))`,
    )
    .orderBy('v.created_at', 'desc')
    .orderBy('v.voter_id', 'desc')
    .offset($.offset)
    .limit($.limit),
);

type VoteView = RowOf<typeof selectVotes>;

/** Lists the votes that count for an idea, newest first. Throws not_found if the reader may not see the idea. */
export async function listVotes(op: ReadOperation, ideaId: number, place: Place): Promise<Page<VoteView>> {
  const { accountId, boardId, isModerator } = op.actor;
  const rows = await op.query(selectVotes, {
    accountId,
    boardId,
    ideaId,
    isModerator,
    cursorKey: place.cursor?.key ?? null,
    cursorId: place.cursor?.id ?? 0,
    offset: place.offset,
    limit: place.perPage + 1,
  });
  if (rows.length === 0 && !(await readIdea(op, ideaId))) throw new DomainError('not_found');
  return cutPage(rows, place, vote => ({ sort: voteSort, key: vote.created_at, id: vote.voter_id }));
}

export function presentVote(vote: VoteView) {
  return {
    value: voteOfNumber[vote.value as 1 | -1],
    voter: presentVoter(vote),
    carried_from_id: vote.carried_from_id,
    created_at: presentTime(vote.created_at),
  };
}

function presentVoter({ user_id, user_name, token_id, token_name, issuer_id, issuer_name }: VoteView) {
  if (token_id !== null && token_name !== null && issuer_id !== null && issuer_name !== null) {
    return { kind: 'token' as const, id: token_id, name: token_name, issuer: { id: issuer_id, name: issuer_name } };
  }
  return { kind: 'person' as const, id: user_id, name: user_name ?? placeholderName, issuer: null };
}
