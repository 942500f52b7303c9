import type { Queryable } from '../database/database.ts';
import { statement } from '../database/statement.ts';
import { type Actor, noVoter } from '../domain/operation.ts';
import { canonicalAddress } from '../domain/users/canonical-address.ts';
import type { Role } from '../entities/membership.ts';

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

interface ActorRow {
  account_id: number;
  board_id: number;
  user_id: number;
  voter_id: number | null;
  role: Role;
  is_blocked: boolean;
}

const selectActor = statement<ActorRow>(
  'select_acting_user',
  `select a.id as account_id, b.id as board_id, u.id as user_id, v.id as voter_id, m.role,
    ub.user_id is not null as is_blocked
  from accounts a
  join boards b on b.account_id = a.id and b.slug = $2
  join users u on u.canonical_email = $3
  join memberships m on m.account_id = a.id and m.user_id = u.id
  left join voters v on v.account_id = a.id and v.user_id = u.id
  left join user_blocks ub on ub.account_id = a.id and ub.user_id = u.id
  where a.slug = $1`,
);

/** Who acts, as a person: in the role that they have now, and with a vote of their own. */
export async function findActor(queryable: Queryable, { account, board, user }: ActingUser): Promise<ExtensionActor> {
  const [row] = await queryable.query(selectActor, [account, board, canonicalAddress(user)]);
  // Not a refusal that a client is told: whoever configured the extension has to know.
  if (!row) throw new Error(`The account ${account} has no board ${board}, or no such member to act on it`);
  return {
    accountId: row.account_id,
    boardId: row.board_id,
    userId: row.user_id,
    tokenId: null,
    voterId: row.voter_id ?? noVoter,
    isModerator: row.role !== 'member',
    isBlocked: row.is_blocked,
  };
}

const insertVoter = statement<{ id: number }>(
  'insert_voter_of_user',
  `insert into voters (account_id, user_id) values ($1, $2)
  on conflict (account_id, user_id) do update set user_id = excluded.user_id
  returning id`,
);

/** The voter of a person, who has none before the first vote. */
export async function requireVoter(queryable: Queryable, actor: Actor): Promise<number> {
  if (actor.voterId !== noVoter) return actor.voterId;
  const [voter] = await queryable.query(insertVoter, [actor.accountId, actor.userId]);
  if (!voter) throw new Error('The voter was not made');
  return voter.id;
}
