import type { z } from 'zod';
import { type Comment, commentOnIdea as commentRoute } from '../../contract/comments.ts';
import { issuesIn } from '../../contract/errors.ts';
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
import { type LinkSettings, linkToIdeas, presentIdea } from '../domain/ideas/present-idea.ts';
import { type IdeaView, readIdea } from '../domain/ideas/read-idea.ts';
import { type Actor, noVoter, type WriteOperation } from '../domain/operation.ts';
import { setIdeaStatus } from '../domain/statuses/set-idea-status.ts';
import type { Clock } from '../domain/time.ts';
import { canonicalAddress } from '../domain/users/canonical-address.ts';
import { castVote, type Tally } from '../domain/votes/cast-vote.ts';
import { taskIdentifier } from './subscriptions.ts';

export interface ExtensionQueries {
  /** Runs one SQL statement. The values replace $1, $2 and so on. Returns times as text and ids as numbers. */
  query<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface JobOptions {
  /** The earliest time to run the job. By default it runs immediately. */
  readonly runAt?: Date;
  /** A key of the job. A new job replaces a waiting job with the same key. */
  readonly key?: string;
}

/**
 * Operations on a board on behalf of a member, with the rules and results of the Agent API. The rules for frozen
 * boards, closed ideas and approval apply to extensions too. Changes notify webhooks, chats and people. A failed
 * operation throws a DomainError with the error key of the Agent API.
 */
export interface ExtensionOperations extends ExtensionQueries {
  createIdea(by: ActingUser, idea: { title: string; body: string }): Promise<z.output<typeof Idea>>;
  /**
   * Returns undefined if the board has no such idea or if the idea is rejected. Also returns undefined if the idea is
   * pending approval and the member is not a moderator.
   */
  readIdea(by: ActingUser, ideaId: number): Promise<z.output<typeof Idea> | undefined>;
  commentOnIdea(by: ActingUser, ideaId: number, body: string): Promise<z.output<typeof Comment>>;
  /** Sets the status of an idea, and adds an official reply if one is given. The member must be a moderator. */
  setIdeaStatus(by: ActingUser, ideaId: number, status: string, reply?: string): Promise<z.output<typeof Idea>>;
  castVote(by: ActingUser, ideaId: number, value: VoteValue): Promise<Tally>;
  /** Adds a job that runs one of the extension's tasks. The payload is stored as JSON. */
  addJob(task: string, payload?: unknown, options?: JobOptions): Promise<void>;
}

interface ExtensionOperation extends WriteOperation {
  readonly actor: ExtensionActor;
}

/** Builds the operations that an extension can run in one transaction. */
export function operationsIn(
  transaction: Transaction,
  extension: string,
  { config, clock }: { config: LinkSettings; clock: Clock },
): ExtensionOperations {
  const operate = async <T>(by: ActingUser, work: (op: ExtensionOperation) => Promise<T>) => {
    const actor = await findActor(transaction, by);
    return work({ actor, now: clock.now(), query: transaction.query });
  };
  const write = <T>(by: ActingUser, work: (op: ExtensionOperation) => Promise<T>) =>
    operate(by, op => {
      if (op.actor.isBlocked) throw new DomainError('user_blocked');
      return work(op);
    });
  const present = ({ board }: ActingUser, idea: IdeaView) => presentIdea(idea, linkToIdeas(config, board));
  return {
    ...queriesOn(transaction),
    createIdea: (by, idea) => write(by, async op => present(by, await createIdea(op, valid(IdeaInput, idea)))),
    async readIdea(by, ideaId) {
      const idea = await operate(by, op => readIdea(op, ideaId));
      return idea && present(by, idea);
    },
    commentOnIdea: (by, ideaId, body) =>
      write(by, async op => presentComment(await commentOnIdea(op, ideaId, valid(commentRoute.body, { body }).body))),
    setIdeaStatus: (by, ideaId, status, reply) =>
      write(by, async op => {
        if (!op.actor.isModerator) throw new DomainError('insufficient_scope');
        const input = valid(statusRoute.body, { status, ...(reply === undefined ? {} : { reply }) });
        return present(by, await setIdeaStatus(op, ideaId, input.status, input.reply));
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

/**
 * Runs an SQL statement of an extension. The statement is not prepared, because two extensions could choose the same
 * name for a prepared statement.
 */
export function queriesOn(queryable: Queryable): ExtensionQueries {
  return { query: (text, values = []) => queryable.query(queryOfText(text, values.length), values) };
}

/** Validates input. Throws the validation error of the Agent API. */
function valid<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(input);
  if (!error) return data as z.output<Schema>;
  throw new DomainError('validation_failed', { issues: issuesIn(['body'], error, schema) });
}

/** The board to act on, and the member who acts on it. */
export interface ActingUser {
  /** The slug of the account. */
  readonly account: string;
  /** The slug of the board. */
  readonly board: string;
  /**
   * The e-mail address of the member. The spelling may differ from the stored address, for example in upper and lower
   * case.
   */
  readonly user: string;
}

interface ExtensionActor extends Actor {
  readonly isBlocked: boolean;
}

/** Searches all accounts for the account with this slug. */
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

/** Finds the acting member, with the current role and the id of the member's voter row. */
async function findActor(queryable: Queryable, { account, board, user }: ActingUser): Promise<ExtensionActor> {
  const [row] = await queryable.query(selectActor, { account, board, address: canonicalAddress(user) });
  // Throws an ordinary error and no DomainError, because the mistake is in the configuration of the extension and not
  // in a request.
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

/** Returns the id of the user's voter row. The user's first vote creates this row. */
async function requireVoter(queryable: Queryable, actor: Actor): Promise<number> {
  if (actor.voterId !== noVoter) return actor.voterId;
  const [voter] = await queryable.query(insertVoter, { accountId: actor.accountId, userId: actor.userId });
  if (!voter) throw new Error('The insert returned no voter');
  return voter.id;
}
