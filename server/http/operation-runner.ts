import { hash } from 'node:crypto';
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify';
import { errors } from '../../contract/errors.ts';
import type { Transaction } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { boolean, sql, text } from '../database/sql.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type Administration, administrationIn, type Reading } from '../domain/administration.ts';
import { DomainError } from '../domain/domain-error.ts';
import { inTurnAlone } from '../domain/ideas/lock-ideas.ts';
import { type LinkToIdea, linkToIdeas } from '../domain/ideas/present-idea.ts';
import type { Actor, Operation, ReadOperation, WriteOperation } from '../domain/operation.ts';
import { activeSpan } from '../observability/active-span.ts';
import { refuseExhausted } from './audit-refusals.ts';
import { errorBody, refusalFor } from './error-handler.ts';
import type { Idempotency, StoredAnswer } from './look-up-token.ts';
import { readFromPrimary } from './primary-reads.ts';
import { type Counter, charge, type HeaderSetter, refund, setRateLimitHeaders } from './rate-limit.ts';
import { actorOf, admissionOf } from './request-context.ts';

const idempotencyHours = 24;

export const replayedHeader = 'Idempotency-Replayed';

interface Answer {
  status: number;
  body: unknown;
}

interface WriteInput<Body = unknown> {
  request: FastifyRequest;
  reply: HeaderSetter;
  params?: unknown;
  query: unknown;
  body?: unknown;
  /**
   * The keys of the locks that the operation takes, such as `idea:7`. Database.inTurn limits how many connections wait
   * for one of these locks.
   */
  turns?(actor: Actor): string[];
  /**
   * Removes from the body the secrets that the server shows only once. If the client repeats the request with the same
   * Idempotency-Key, it gets the body without these secrets. By default, the server stores the whole body.
   */
  withoutSecret?(body: Body): Body;
  /**
   * Work that runs before the transaction of the operation. Each SQL statement of this work runs in its own
   * transaction.
   */
  prepare?(op: ReadOperation): Promise<void>;
}

export type OperationRunner = ReturnType<typeof buildOperationRunner>;

/** Builds the functions that run an operation for the token of a request, and for the user of this token. */
export function buildOperationRunner(server: ServerDependencies) {
  const { audit, config, database, clock } = server;

  function inTurn<T>(input: Pick<WriteInput, 'request' | 'turns'>, work: () => Promise<T>): Promise<T> {
    const keys = turnsOf(input);
    return keys.length > 0 ? database.inTurn(keys, work) : work();
  }

  /** Runs one or more statements that need no transaction. */
  function read<T>(request: FastifyRequest, work: (op: Operation) => Promise<T>): Promise<T> {
    return work({ actor: actorOf(request), now: clock.now(), query: database.query });
  }

  /**
   * Reads a list from the read replica, whose rows may be a little old. If the token has just written or asked for a
   * cursor of the events, reads from the primary. Use `read` for a single idea, because a client may just have received
   * an event about it.
   */
  function readList<T>(request: FastifyRequest, work: (op: Operation) => Promise<T>): Promise<T> {
    const { query } = admissionOf(request).principal.readsPrimary ? database : database.reader;
    return work({ actor: actorOf(request), now: clock.now(), query });
  }

  /** Lets the token of a request read its next lists from the primary. */
  function keepOnPrimary(request: FastifyRequest): Promise<void> {
    return readFromPrimary(database, admissionOf(request).principal.tokenId, config);
  }

  /**
   * Runs a write in one transaction. If several writes have the same Idempotency-Key within 24 hours, only one of them
   * takes effect.
   */
  function write<A extends Answer>(input: WriteInput, work: (op: WriteOperation) => Promise<A>): Promise<A> {
    const actor = actorOf(input.request);
    return runOnce(input, ({ query }) => work({ actor, now: clock.now(), query }));
  }

  /** Runs an administrative write for a token, in the same way as `write`. */
  function administer<A extends Answer>(
    input: WriteInput<A['body']>,
    work: (admin: Administration, actor: Actor) => Promise<A>,
  ): Promise<A> {
    const actor = actorOf(input.request);
    const { tokenId } = admissionOf(input.request).principal;
    const by = { by: 'token', by_user_id: actor.userId, by_token_id: tokenId } as const;
    return runOnce(input, transaction =>
      work(administrationIn(transaction, { audit, actor: by, now: clock.now() }), actor),
    );
  }

  /** Reads data for an administrative operation of a token. Uses no transaction. */
  function readForAdministration<T>(request: FastifyRequest, work: (op: Reading, actor: Actor) => Promise<T>) {
    return work({ db: database.db, now: clock.now() }, actorOf(request));
  }

  async function runOnce<A extends Answer>(
    input: WriteInput<A['body']>,
    inTransaction: (transaction: Transaction) => Promise<A>,
  ): Promise<A> {
    const { request, prepare, withoutSecret = body => body } = input;
    const { idempotency } = request;
    const actor = actorOf(request);
    if (request.storedAnswer) return replay<A>(server, input, request.storedAnswer);
    await prepare?.({ actor, ...inTurnAlone(database, turnsOf(input)) });
    if (!idempotency) return inTurn(input, () => database.transaction(inTransaction));

    const { account, tokenId } = admissionOf(request).principal;
    const key: UsedKey = { accountId: account.id, tokenId, ...idempotency };
    const outcome = await inTurn(input, () =>
      database.transaction(async transaction => {
        const earlier = await claimKey(transaction, key, clock.now());
        if (earlier) return { stored: earlier };
        const answer = await inTransaction(transaction);
        const stored = { status: answer.status, body: withoutSecret(answer.body) };
        await storeAnswer(transaction, key, fingerprintOf(input), stored, clock.now());
        return { answer };
      }),
    );
    // Sends the stored answer only after the transaction. replay() needs a database connection to correct the rate
    // limit. It must not wait for this connection while the transaction holds another connection.
    return outcome.stored ? replay<A>(server, input, outcome.stored) : outcome.answer;
  }

  /**
   * Runs a write that is a single statement, without a transaction. If the request has an Idempotency-Key, the write
   * uses a transaction, because the stored answer must commit with the write. A traced request also uses a transaction,
   * because the event of the write learns the trace from the transaction.
   */
  function writeOnce<A extends Answer>(input: WriteInput, work: (op: Operation) => Promise<A>): Promise<A> {
    return input.request.idempotency || activeSpan()
      ? write(input, work)
      : inTurn(input, () => read(input.request, work));
  }

  return {
    read,
    readList,
    keepOnPrimary,
    readForAdministration,
    write,
    writeOnce,
    administer,
    linkFor: (request: FastifyRequest) => linkFor(server, request),
  };
}

/**
 * Returns a function that takes the id of an idea on the board of the request, and returns the URL of the idea's page.
 */
function linkFor({ config }: ServerDependencies, request: FastifyRequest): LinkToIdea {
  const { boardId } = actorOf(request);
  const board = admissionOf(request).principal.boards.find(({ id }) => id === boardId);
  if (!board) throw new Error('The token does not grant the board of the request');
  return linkToIdeas(config, board.slug);
}

function turnsOf({ request, turns }: Pick<WriteInput, 'request' | 'turns'>): string[] {
  return turns?.(actorOf(request)) ?? [];
}

type ReplayInput = Omit<WriteInput, 'withoutSecret'>;

/**
 * Answers a repeated request with the stored answer. If the request was already counted against the rate limit, takes
 * this count back.
 */
async function replay<A>(server: ServerDependencies, input: ReplayInput, stored: StoredAnswer): Promise<A> {
  const { request, reply } = input;
  if (!isSameRequest(input, stored)) throw new DomainError('idempotency_key_reused');
  if (request.bucketState) setRateLimitHeaders(reply, await refund(server.database, request.bucketState));
  reply.header(replayedHeader, 'true');
  return { status: stored.status, body: readStoredBody(stored.body, linkFor(server, request)) } as A;
}

/**
 * Parses a stored body. A server of the previous version may have stored the body with fewer fields. Adds the missing
 * fields to each idea and each comment.
 */
function readStoredBody(body: string, linkTo: LinkToIdea): unknown {
  return JSON.parse(body, (_, value) => {
    if (value?.official !== undefined) return { updated_at: value.created_at, ...value };
    return value?.moderation_state === undefined ? value : { body_truncated: false, url: linkTo(value.id), ...value };
  });
}

/**
 * The hook for a request whose Idempotency-Key has a stored answer. The server has not counted this request against the
 * rate limit. If the request is invalid or differs from the answered request, the request fails. The hook then counts
 * the failed request, and answers 429 if the request exceeds the rate limit.
 */
export function chargeFailedReplay(server: ServerDependencies) {
  return (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: DoneFuncWithErrOrRes) => {
    const { sparedCounter } = request;
    request.sparedCounter = null;
    if (!sparedCounter || reply.hasHeader(replayedHeader)) return done(null, payload);
    chargeRequest(request, reply, sparedCounter).then(refusal => done(null, refusal ?? payload), done);
  };

  /** Returns the body of a refusal if the request exceeds the rate limit. */
  async function chargeRequest(request: FastifyRequest, reply: FastifyReply, counter: Counter) {
    const state = await charge(server.database, counter, server.clock.now());
    setRateLimitHeaders(reply, state);
    try {
      refuseExhausted(server.audit, request, reply, state, request.admission?.principal);
    } catch (error) {
      const refusal = refusalFor(error);
      request.errorKey = refusal.key;
      reply.status(errors[refusal.key].status);
      return JSON.stringify(errorBody(refusal));
    }
  }
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
    .where(used => used.and({ account_id: $.accountId, token_id: $.tokenId, path: $.path, key: $.key }))
    .where('expires_at', '>', $.now),
);

/**
 * Locks an Idempotency-Key until the transaction ends. If another request has stored an answer since the server looked
 * up the token, returns this answer.
 */
async function claimKey(transaction: Transaction, used: UsedKey, now: Date): Promise<StoredAnswer | undefined> {
  const [lock] = await transaction.query(tryLockKey, { key: `${used.tokenId} ${used.path} ${used.key}` });
  if (!lock?.is_locked) throw new DomainError('idempotency_key_in_use');
  const [stored] = await transaction.query(selectAnswer, { ...used, now });
  return stored;
}

/** Stores an answer. It replaces an expired answer with the same key. */
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
  used: UsedKey,
  fingerprint: Buffer,
  { status, body }: Answer,
  now: Date,
) {
  const expiresAt = new Date(now.getTime() + idempotencyHours * 3_600_000);
  await transaction.query(insertAnswer, { ...used, fingerprint, status, body: JSON.stringify(body), expiresAt });
}

/**
 * Hashes a request. The server compares this hash with the hash of a later request that has the same Idempotency-Key.
 * The function hashes the validated input. So the order of fields, duplicate fields and the notation of numbers make no
 * difference.
 */
function fingerprintOf({ params, query, body }: Pick<WriteInput, 'params' | 'query' | 'body'>): Buffer {
  return hash('sha256', JSON.stringify([params ?? null, query, body ?? null]), 'buffer');
}

/**
 * Whether a request is the same as the request that got the stored answer. If the token grants only one board, a
 * request may name the board or omit it. The stored fingerprint covers the query exactly as the client sent it. During
 * an upgrade, servers of another version compare their requests with this fingerprint.
 */
function isSameRequest(input: ReplayInput, { fingerprint }: StoredAnswer): boolean {
  const { board, ...query } = input.query as { board?: string };
  const queries: unknown[] = [input.query];
  const [own, ...others] = admissionOf(input.request).principal.boards;
  if (own && others.length === 0) queries.push(board === undefined ? { ...query, board: own.slug } : query);
  return queries.some(one => fingerprint.equals(fingerprintOf({ ...input, query: one })));
}
