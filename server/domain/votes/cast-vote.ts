import type { ErrorKey } from '../../../contract/errors.ts';
import type { VoteValue } from '../../../contract/idea.ts';
import { type Arguments, query } from '../../database/query.ts';
import { bigint, integer, nullable, smallint, sql, text, time } from '../../database/sql.ts';
import { DomainError } from '../domain-error.ts';
import type { UserInAccount } from '../members/authority.ts';
import { noVoter, type Operation } from '../operation.ts';
import { keepNetwork } from './vote-networks.ts';

export interface Tally {
  score: number;
  my_vote: VoteValue;
  up_count: number;
  down_count: number;
}

type Refusal = Extract<
  ErrorKey,
  'not_found' | 'board_frozen' | 'voting_not_open_yet' | 'voting_closed' | 'status_votes_closed'
>;

const callCastVote = sql(
  'cast_vote',
  {
    arguments: {
      accountId: bigint(),
      boardId: bigint(),
      ideaId: bigint(),
      voterId: bigint(),
      value: smallint<-1 | 0 | 1>(),
      now: time(),
      actorId: bigint(),
      tokenId: nullable(bigint()),
    },
    row: { outcome: text<'ok' | Refusal>(), up_count: integer(), down_count: integer() },
  },
  `select outcome, up_count, down_count
  from cast_vote($accountId, $boardId, $ideaId, $voterId, $value, $now, $actorId, $tokenId)`,
);

const numberOfVote = { up: 1, down: -1, none: 0 } as const satisfies Record<VoteValue, number>;

/**
 * Sets the vote of a user or token on an idea (specification: Idea actions, rules 1 and 2) in one statement. A database
 * function locks the idea, checks the rules and updates the tally. It records the event only if a webhook or an
 * extension subscribes to votes.
 */
export async function castVote(op: Operation, ideaId: number, value: VoteValue): Promise<Tally> {
  const { accountId, boardId, voterId, userId, tokenId } = op.actor;
  const vote = { accountId, boardId, ideaId, voterId, value: numberOfVote[value] };
  const [result] = await op.query(callCastVote, { ...vote, now: op.now, actorId: userId, tokenId });
  if (!result) throw new Error('cast_vote returned no row');
  const { outcome, up_count, down_count } = result;
  if (outcome !== 'ok') throw new DomainError(outcome);
  return { score: up_count - down_count, my_vote: value, up_count, down_count };
}

/** Selects the voter row that a person's votes belong to. Creates this row if the person votes for the first time. */
const upsertVoter = query('upsert_voter', (db, $: Arguments<UserInAccount>) =>
  db
    .insertInto('voters')
    .values({ account_id: $.accountId, user_id: $.userId })
    // Updates the existing row, because `do nothing` would return no row after a conflict.
    .onConflict(conflict =>
      conflict.columns(['account_id', 'user_id']).doUpdateSet(row => ({ user_id: row.ref('excluded.user_id') })),
    )
    .returning('id'),
);

/**
 * Sets a person's own vote. This vote is separate from the votes of the tokens that the person issued (specification:
 * Vote tally). Keeps the hash of the person's network for a limited time, so that moderators can see several votes from
 * one network.
 */
export async function castOwnVote(op: Operation, ideaId: number, value: VoteValue, network: Buffer): Promise<Tally> {
  const voter = await ownVoterOf(op);
  const tally = await castVote(voter, ideaId, value);
  await keepNetwork(voter, ideaId, value, network);
  return tally;
}

/**
 * Returns the operation with the id of the voter row that the person's votes belong to. Creates this row if the person
 * has not voted yet.
 */
async function ownVoterOf(op: Operation): Promise<Operation> {
  if (op.actor.voterId !== noVoter) return op;
  const [voter] = await op.query(upsertVoter, op.actor);
  if (!voter) throw new Error('An upsert returned no row');
  const actor = { ...op.actor, voterId: voter.id };
  return { actor, query: op.query, now: op.now };
}
