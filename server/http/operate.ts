import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Transaction } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { boolean, sql, text } from '../database/sql.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { inTurnAlone } from '../domain/ideas/lock-ideas.ts';
import type { Actor, Operation, ReadOperation, WriteOperation } from '../domain/operation.ts';
import { auditLimit } from './audit-refusals.ts';
import type { Charges, StoredAnswer } from './look-up-token.ts';
import { charge, type HeaderSetter, refund, setRateLimitHeaders } from './rate-limit.ts';
import { admissionOf } from './request-context.ts';

/** How long the answer to an idempotent request is kept. */
const idempotencyHours = 24;

export const replayedHeader = 'Idempotency-Replayed';

interface Answer<Status extends number, Body> {
  status: Status;
  body: Body;
}

/** Runs the operations of endpoints for the actor whom a request was admitted as. */
export interface Operator {
  /** For one or more statements that need no transaction. */
  read<T>(request: FastifyRequest, work: (op: Operation) => Promise<T>): Promise<T>;
  /** For a write: in one transaction, once for each Idempotency-Key. */
  write<A extends Answer<number, unknown>>(exchange: Exchange, work: (op: WriteOperation) => Promise<A>): Promise<A>;
  /** For a write of one statement, which is a transaction by itself unless an Idempotency-Key must commit with it. */
  writeOnce<A extends Answer<number, unknown>>(exchange: Exchange, work: (op: Operation) => Promise<A>): Promise<A>;
}

type Idempotency = NonNullable<Charges['idempotency']>;

/** A validated request and its reply; input is what tells two requests apart. */
interface Exchange {
  request: FastifyRequest;
  reply: HeaderSetter;
  params?: unknown;
  query: unknown;
  body?: unknown;
  /** The keys of what the operation locks: see Database.inTurn. */
  turns?(actor: Actor): string[];
  /** Runs before the transaction, each statement by itself. */
  prepare?(op: ReadOperation): Promise<void>;
}

export function buildOperator(server: ServerDependencies): Operator {
  const { database, clock } = server;

  function operationFor(request: FastifyRequest): Operation {
    return { actor: actorOf(request), now: clock.now(), query: database.query };
  }

  function inTurn<T>(exchange: Exchange, work: () => Promise<T>): Promise<T> {
    const keys = turnsOf(exchange);
    return keys.length > 0 ? database.inTurn(keys, work) : work();
  }

  async function transact<A extends Answer<number, unknown>>(
    exchange: Exchange,
    work: (op: WriteOperation) => Promise<A>,
  ): Promise<A> {
    const { request, prepare } = exchange;
    const actor = actorOf(request);
    const inTransaction = (transaction: Transaction) => work({ actor, now: clock.now(), query: transaction.query });
    const { idempotency } = request;
    if (request.storedAnswer) return replay<A>(server, exchange, request.storedAnswer);
    await prepare?.({ actor, ...inTurnAlone(database, turnsOf(exchange)) });
    if (!idempotency) return inTurn(exchange, () => database.transaction(inTransaction));

    const outcome = await inTurn(exchange, () =>
      database.transaction(async transaction => {
        const stored = await claimKey(transaction, request, idempotency, clock.now());
        if (stored) return { stored };
        const answer = await inTransaction(transaction);
        await storeAnswer(transaction, exchange, idempotency, answer, clock.now());
        return { answer };
      }),
    );
    // Only now: the refund of a replay takes a connection, and one that holds another must not wait for it.
    return outcome.stored ? replay<A>(server, exchange, outcome.stored) : outcome.answer;
  }

  return {
    read: (request, work) => work(operationFor(request)),
    write: transact,
    writeOnce: (exchange, work) =>
      exchange.request.idempotency
        ? transact(exchange, work)
        : inTurn(exchange, () => work(operationFor(exchange.request))),
  };
}

function turnsOf({ request, turns }: Exchange): string[] {
  return turns?.(actorOf(request)) ?? [];
}

function actorOf(request: FastifyRequest): Actor {
  const { actor } = admissionOf(request);
  if (!actor) throw new Error('The route is not for a board');
  return actor;
}

/** Answers with what is stored under the request's key, if the request is the same one. A replay costs nothing. */
async function replay<A>(server: ServerDependencies, exchange: Exchange, stored: StoredAnswer): Promise<A> {
  const { request, reply } = exchange;
  if (!isSameRequest(exchange, stored)) throw new DomainError('idempotency_key_reused');
  if (request.bucketState) setRateLimitHeaders(reply, await refund(server.database, request.bucketState));
  reply.header(replayedHeader, 'true');
  return { status: stored.status, body: JSON.parse(stored.body) } as A;
}

/**
 * The hook that charges a request after all which was admitted as the repetition of another and turned out to be none:
 * under a used key, what is different or not even valid costs what every request costs.
 */
export function chargeWhatIsNoReplay(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const { sparedCounter } = request;
    request.sparedCounter = null;
    if (sparedCounter && !reply.hasHeader(replayedHeader)) {
      const state = await charge(server.database, sparedCounter, server.clock.now());
      setRateLimitHeaders(reply, state);
      auditLimit(server.audit, request, state, request.admission?.principal);
    }
    return payload;
  };
}

const tryLockKey = sql(
  'try_lock_idempotency_key',
  { arguments: { key: text() }, row: { is_locked: boolean() } },
  'select pg_try_advisory_xact_lock(hashtextextended($key, 0)) as is_locked',
);

interface UsedKey extends Idempotency {
  accountId: number;
  tokenId: number;
}

const selectAnswer = query('select_idempotent_answer', (db, $: Arguments<UsedKey & { now: Date }>) =>
  db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'status', 'body'])
    .where('account_id', '=', $.accountId)
    .where('token_id', '=', $.tokenId)
    .where('path', '=', $.path)
    .where('key', '=', $.key)
    .where('expires_at', '>', $.now),
);

/**
 * Makes the request the only one under its key until its transaction ends. Answers what was stored by a first
 * request that ended between this one's admission and the lock.
 */
async function claimKey(
  transaction: Transaction,
  request: FastifyRequest,
  { path, key }: Idempotency,
  now: Date,
): Promise<StoredAnswer | undefined> {
  const { account, tokenId } = admissionOf(request).principal;
  const [lock] = await transaction.query(tryLockKey, { key: `${tokenId} ${path} ${key}` });
  if (!lock?.is_locked) throw new DomainError('idempotency_key_in_use');
  const [stored] = await transaction.query(selectAnswer, { accountId: account.id, tokenId, path, key, now });
  return stored;
}

/** The key may hold an expired answer, which this one replaces. */
const insertAnswer = query(
  'insert_idempotent_answer',
  (db, $: Arguments<UsedKey & StoredAnswer & { expiresAt: Date }>) =>
    db
      .insertInto('idempotency_keys')
      .values({
        account_id: $.accountId,
        token_id: $.tokenId,
        path: $.path,
        key: $.key,
        fingerprint: $.fingerprint,
        status: $.status,
        body: $.body,
        expires_at: $.expiresAt,
      })
      .onConflict(conflict =>
        conflict.columns(['account_id', 'token_id', 'path', 'key']).doUpdateSet(row => ({
          fingerprint: row.ref('excluded.fingerprint'),
          status: row.ref('excluded.status'),
          body: row.ref('excluded.body'),
          expires_at: row.ref('excluded.expires_at'),
        })),
      ),
);

async function storeAnswer(
  transaction: Transaction,
  exchange: Exchange,
  { path, key }: Idempotency,
  answer: Answer<number, unknown>,
  now: Date,
) {
  const { account, tokenId } = admissionOf(exchange.request).principal;
  await transaction.query(insertAnswer, {
    accountId: account.id,
    tokenId,
    path,
    key,
    fingerprint: fingerprintOf(exchange),
    status: answer.status,
    body: JSON.stringify(answer.body),
    expiresAt: new Date(now.getTime() + idempotencyHours * 3_600_000),
  });
}

/**
 * Hashes a request for its comparison with a repetition. The validated input has the fields in the order of the schema,
 * the last of two members with one name, and numbers whatever their spelling, so that none of these makes a difference.
 */
function fingerprintOf({ params, query, body }: Exchange): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([params ?? null, query, body ?? null]))
    .digest();
}

/**
 * Whether a request is the one that was answered. A token with one board may name it or not, which means the same. The
 * stored form is the one of the request as it was sent: servers of another version compare with it during an upgrade.
 */
function isSameRequest(exchange: Exchange, { fingerprint }: StoredAnswer): boolean {
  const { board, ...query } = exchange.query as { board?: string };
  const queries: unknown[] = [exchange.query];
  const [own, ...others] = admissionOf(exchange.request).principal.boards;
  if (own && others.length === 0) queries.push(board === undefined ? { ...query, board: own.slug } : query);
  return queries.some(one => fingerprint.equals(fingerprintOf({ ...exchange, query: one })));
}
