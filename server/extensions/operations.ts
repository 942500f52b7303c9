import type { z } from 'zod';
import { type Comment, commentOnIdea as commentRoute } from '../../contract/comments.ts';
import type { Idea, VoteValue } from '../../contract/idea.ts';
import { IdeaInput } from '../../contract/ideas.ts';
import { setIdeaStatus as statusRoute } from '../../contract/statuses.ts';
import { voteIdea as voteRoute } from '../../contract/votes.ts';
import { addJob } from '../database/add-job.ts';
import type { Queryable, Transaction } from '../database/database.ts';
import { type Arguments, query, queryOfText } from '../database/query.ts';
import { commentOnIdea, presentComment } from '../domain/comments/comments.ts';
import { DomainError } from '../domain/domain-error.ts';
import { createIdea } from '../domain/ideas/create-idea.ts';
import { presentIdea } from '../domain/ideas/present-idea.ts';
import { readIdea } from '../domain/ideas/read-idea.ts';
import { type Actor, noVoter, type WriteOperation } from '../domain/operation.ts';
import { setIdeaStatus } from '../domain/statuses/set-idea-status.ts';
import type { Clock } from '../domain/time.ts';
import { canonicalAddress } from '../domain/users/canonical-address.ts';
import { castVote, type Tally } from '../domain/votes/cast-vote.ts';
import { taskIdentifier } from './subscriptions.ts';

export interface ExtensionQueries {
  /** Runs one statement, with its values as $1, $2 and so on. Times arrive as text, ids as numbers. */
  query<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface JobOptions {
  /** Not before then; by default at once. */
  readonly runAt?: Date;
  /** Of the jobs under one key at most one waits: the last that was asked for. */
  readonly key?: string;
}

/**
 * What an extension does on a board, on behalf of a member, by the same rules as everybody: what is frozen, closed or
 * to be approved is so for an extension too, and what it does is told to webhooks, chats and people. A refusal is a
 * DomainError with the Agent API's key. Ideas and comments are as the Agent API answers them.
 */
export interface ExtensionOperations extends ExtensionQueries {
  createIdea(by: ActingUser, idea: { title: string; body: string }): Promise<z.output<typeof Idea>>;
  /** Undefined where the board has none of that id, or it awaits approval and the member is no moderator. */
  readIdea(by: ActingUser, ideaId: number): Promise<z.output<typeof Idea> | undefined>;
  commentOnIdea(by: ActingUser, ideaId: number, body: string): Promise<z.output<typeof Comment>>;
  /** For moderators. */
  setIdeaStatus(by: ActingUser, ideaId: number, status: string): Promise<z.output<typeof Idea>>;
  castVote(by: ActingUser, ideaId: number, value: VoteValue): Promise<Tally>;
  /** Has one of the extension's tasks run by a worker, with the payload as JSON. */
  addJob(task: string, payload?: unknown, options?: JobOptions): Promise<void>;
}

interface ExtensionOperation extends WriteOperation {
  readonly actor: ExtensionActor;
}

/** The operations of an extension in one transaction. */
export function operationsIn(transaction: Transaction, extension: string, clock: Clock): ExtensionOperations {
  const operate = async <T>(by: ActingUser, work: (op: ExtensionOperation) => Promise<T>) => {
    const actor = await findActor(transaction, by);
    return work({ actor, now: clock.now(), query: transaction.query });
  };
  const write = <T>(by: ActingUser, work: (op: ExtensionOperation) => Promise<T>) =>
    operate(by, op => {
      if (op.actor.isBlocked) throw new DomainError('user_blocked');
      return work(op);
    });
  return {
    ...queriesOn(transaction),
    createIdea: (by, idea) => write(by, async op => presentIdea(await createIdea(op, valid(IdeaInput, idea)))),
    async readIdea(by, ideaId) {
      const idea = await operate(by, op => readIdea(op, ideaId));
      return idea && presentIdea(idea);
    },
    commentOnIdea: (by, ideaId, body) =>
      write(by, async op => presentComment(await commentOnIdea(op, ideaId, valid(commentRoute.body, { body }).body))),
    setIdeaStatus: (by, ideaId, status) =>
      write(by, async op => {
        if (!op.actor.isModerator) throw new DomainError('insufficient_scope');
        return presentIdea(await setIdeaStatus(op, ideaId, valid(statusRoute.body, { status }).status));
      }),
    castVote: (by, ideaId, value) =>
      write(by, async op => {
        const { actor, now, query } = op;
        const voterId = await requireVoter(transaction, actor);
        return castVote({ actor: { ...actor, voterId }, now, query }, ideaId, valid(voteRoute.body, { value }).value);
      }),
    async addJob(task, payload = {}, { runAt, key } = {}) {
      await addJob(transaction, {
        task: taskIdentifier(extension, task),
        payload,
        runAt,
        key: key === undefined ? undefined : taskIdentifier(extension, key),
      });
    },
  };
}

/** Statements of an extension as plain text. They are not prepared: their names would be everybody's. */
export function queriesOn(queryable: Queryable): ExtensionQueries {
  return { query: (text, values = []) => queryable.query(queryOfText(text, values.length), values) };
}

/** What the Agent API would refuse is refused, with its issues. */
function valid<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(input);
  if (!error) return data as z.output<Schema>;
  const issues = error.issues.map(({ path, code, message }) => ({
    path: ['body', ...path.map(String)],
    code,
    message,
  }));
  throw new DomainError('validation_failed', issues);
}

/** A member of an account, and the board on which they act. */
export interface ActingUser {
  /** The account's slug. */
  readonly account: string;
  /** The board's slug. */
  readonly board: string;
  /** The member's address, whatever its spelling. */
  readonly user: string;
}

interface ExtensionActor extends Actor {
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
async function findActor(queryable: Queryable, { account, board, user }: ActingUser): Promise<ExtensionActor> {
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
async function requireVoter(queryable: Queryable, actor: Actor): Promise<number> {
  if (actor.voterId !== noVoter) return actor.voterId;
  const [voter] = await queryable.query(insertVoter, { accountId: actor.accountId, userId: actor.userId });
  if (!voter) throw new Error('The voter was not made');
  return voter.id;
}
