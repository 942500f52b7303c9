import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { type Actor, noVoter } from '../domain/operation.ts';
import { canonicalAddress } from '../domain/users/canonical-address.ts';

/** A member of an account, and the board on which they act. */
export interface ActingUser {
  /** The account's slug. */
  readonly account: string;
  /** The board's slug. */
  readonly board: string;
  /** The member's address, whatever its spelling. */
  readonly user: string;
}

export interface ExtensionActor extends Actor {
  readonly isBlocked: boolean;
}

/** It looks up the account by its slug, so it takes the id of the account from the row. */
const selectActor = query(
  'select_acting_user',
  (db, $: Arguments<{ account: string; board: string; address: string }>) =>
    db
      .selectFrom('accounts as a')
      .innerJoin('boards as b', 'b.account_id', 'a.id')
      .innerJoin('memberships as m', 'm.account_id', 'a.id')
      .innerJoin('users as u', 'u.id', 'm.user_id')
      .leftJoin('voters as v', join => join.onRef('v.account_id', '=', 'a.id').onRef('v.user_id', '=', 'u.id'))
      .leftJoin('user_blocks as ub', join => join.onRef('ub.account_id', '=', 'a.id').onRef('ub.user_id', '=', 'u.id'))
      .select([
        'a.id as account_id',
        'b.id as board_id',
        'u.id as user_id',
        'v.id as voter_id',
        'm.role',
        'ub.user_id as blocked_id',
      ])
      .where('a.slug', '=', $.account)
      .where('b.slug', '=', $.board)
      .where('u.canonical_email', '=', $.address),
);

/** Who acts, as a person: in the role that they have now, and with a vote of their own. */
export async function findActor(queryable: Queryable, { account, board, user }: ActingUser): Promise<ExtensionActor> {
  const [row] = await queryable.query(selectActor, { account, board, address: canonicalAddress(user) });
  // Not a refusal that a client is told: whoever configured the extension has to know.
  if (!row) throw new Error(`The account ${account} has no board ${board}, or no such member to act on it`);
  return {
    accountId: row.account_id,
    boardId: row.board_id,
    userId: row.user_id,
    tokenId: null,
    voterId: row.voter_id ?? noVoter,
    isModerator: row.role !== 'member',
    isBlocked: row.blocked_id !== null,
  };
}

const insertVoter = query('insert_voter_of_user', (db, $: Arguments<{ accountId: number; userId: number }>) =>
  db
    .insertInto('voters')
    .values({ account_id: $.accountId, user_id: $.userId })
    .onConflict(conflict =>
      conflict.columns(['account_id', 'user_id']).doUpdateSet(row => ({ user_id: row.ref('excluded.user_id') })),
    )
    .returning('id'),
);

/** The voter of a person, who has none before the first vote. */
export async function requireVoter(queryable: Queryable, actor: Actor): Promise<number> {
  if (actor.voterId !== noVoter) return actor.voterId;
  const [voter] = await queryable.query(insertVoter, { accountId: actor.accountId, userId: actor.userId });
  if (!voter) throw new Error('The voter was not made');
  return voter.id;
}
