import { randomUUID } from 'node:crypto';
import { sql as fragment } from 'kysely';
import { eventTypes } from '../../contract/events.ts';
import { maxWaitsOfToken } from '../../contract/limits.ts';
import type { Listener } from '../database/listener.ts';
import { type Arguments, query } from '../database/query.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';

/**
 * Manages the requests of this process that wait for events. All of these requests share one database connection that
 * listens for events.
 *
 * Each waiting request has a row in the table event_waits. The rows limit how many requests of one token may wait on
 * all servers together. The database sends notifications of events only for boards with such rows.
 */

/**
 * A server renews its rows in event_waits at this interval. If the server is killed, its rows expire after
 * leaseSeconds.
 */
const renewIntervalMs = 3_000;
const leaseSeconds = 10;

interface Slot {
  accountId: number;
  tokenId: number;
  slot: number;
}

const leaseEnd = fragment<string>`now() + ${leaseSeconds} * interval '1 second'`;

/**
 * Takes a free slot for a waiting request of a token. If parallel statements choose the same slot, only one of the
 * statements takes it.
 */
const takeSlot = query(
  'take_event_wait',
  (db, $: Arguments<{ accountId: number; tokenId: number; boardId: number; serverId: string }>) =>
    db
      .insertInto('event_waits')
      .columns(['account_id', 'token_id', 'slot', 'board_id', 'server_id', 'expires_at'])
      .expression(from =>
        from
          .selectFrom(
            fragment<{ slot: number }>`generate_series(1, ${fragment.lit(maxWaitsOfToken)})`.as<'s'>(fragment`s(slot)`),
          )
          .select([
            $.accountId.as('account_id'),
            $.tokenId.as('token_id'),
            's.slot',
            $.boardId.as('board_id'),
            fragment<string>`${$.serverId}::uuid`.as('server_id'),
            leaseEnd.as('expires_at'),
          ])
          .where(s =>
            s.not(
              s.exists(
                s
                  .selectFrom('event_waits as taken')
                  .where(taken => taken.and({ 'taken.account_id': $.accountId, 'taken.token_id': $.tokenId }))
                  .whereRef('taken.slot', '=', 's.slot')
                  .where('taken.expires_at', '>', fragment<string>`now()`),
              ),
            ),
          )
          .orderBy('s.slot')
          .limit(1),
      )
      .onConflict(conflict =>
        conflict
          .columns(['account_id', 'token_id', 'slot'])
          .doUpdateSet(row => ({
            board_id: row.ref('excluded.board_id'),
            server_id: row.ref('excluded.server_id'),
            expires_at: row.ref('excluded.expires_at'),
          }))
          .where('event_waits.expires_at', '<=', fragment<string>`now()`),
      )
      .returning('event_waits.slot'),
);

const freeSlot = query('free_event_wait', (db, $: Arguments<Slot & { serverId: string }>) =>
  db
    .deleteFrom('event_waits')
    .where(w => w.and({ account_id: $.accountId, token_id: $.tokenId, slot: $.slot, server_id: $.serverId })),
);

const renewSlots = query('renew_event_waits', (db, $: Arguments<{ serverId: string }>) =>
  db.updateTable('event_waits').set({ expires_at: leaseEnd }).where('server_id', '=', $.serverId),
);

interface Waiting {
  accountIds: readonly number[];
  boardIds: readonly number[];
  positions: readonly number[];
  types: readonly string[];
}

/**
 * Finds the boards with events after the given positions. The database may not have sent a notification of such an
 * event.
 */
const selectMissed = query('select_boards_with_events', (db, $: Arguments<Waiting>) =>
  db
    .selectFrom(
      fragment<{ account_id: number; board_id: number; position: number }>`unnest(
        ${$.accountIds}::bigint[], ${$.boardIds}::bigint[], ${$.positions}::bigint[]
      )`.as<'w'>(fragment`w(account_id, board_id, position)`),
    )
    .select('w.board_id')
    .where(w => {
      const ofBoard = w
        .selectFrom('event_positions as p')
        .whereRef('p.account_id', '=', 'w.account_id')
        .whereRef('p.board_id', '=', 'w.board_id');
      const later = ofBoard.where(p => p('p.type', '=', p.fn.any($.types))).whereRef('p.position', '>', 'w.position');
      return w.or([w.exists(ofBoard.where('p.position', 'is', null)), w.exists(later)]);
    }),
);

/** A request that waits for events of a board. */
interface Wait {
  /**
   * Starts waiting for the next event. The promise resolves at the next event of the board, or when the wait must end.
   */
  nextEvent(): Promise<void>;
  /** The request has read the events up to this position, and waits for an event after this position. */
  position: number;
  /**
   * Whether the wait must end. This is so if its time limit has passed, the client has disconnected, the connection to
   * the database is lost, or the server stops.
   */
  readonly isOver: boolean;
}

interface WaitOptions {
  accountId: number;
  tokenId: number;
  boardId: number;
  position: number;
  /** Aborting this signal ends the wait. */
  signal: AbortSignal;
}

export interface EventWaits {
  /** Runs work while the token holds a slot. Throws too_many_waits if the token has no free slot. */
  hold<T>(options: WaitOptions, work: (wait: Wait) => Promise<T>): Promise<T>;
  /** Ends all waits, so that the server answers their requests. Waits that start later end at once. */
  end(): void;
  close(): Promise<void>;
}

interface Waiter extends WaitOptions {
  wake(): void;
}

export function buildEventWaits({ database, logger }: Pick<ServerDependencies, 'database' | 'logger'>): EventWaits {
  const serverId = randomUUID();
  const waiters = new Set<Waiter>();
  const stopping = new AbortController();
  let opening: Promise<Listener> | undefined;
  /**
   * The signal of this controller aborts when the connection that listens for events breaks. Then the waits must end.
   * If PostgreSQL crashed, the crash has also emptied the table event_waits.
   */
  let connected = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  /** Opens the connection that listens for events, if there is none. */
  function listen(): Promise<Listener> {
    if (opening) return opening;
    const lost = new AbortController();
    connected = lost;
    const forget = () => {
      lost.abort();
      if (connected === lost) opening = undefined;
    };
    opening = database.listen({
      channel: 'idea_board_events',
      onMessage: boardId => wakeBoard(Number(boardId)),
      onLost(error) {
        logger.warn({ err: error }, 'lost the connection that listens for events');
        forget();
      },
    });
    opening.catch(forget);
    return opening;
  }

  function wakeBoard(boardId: number) {
    for (const waiter of waiters) if (waiter.boardId === boardId) waiter.wake();
  }

  /**
   * Renews the rows of the waiting requests. Then looks for events without a notification. An event has no notification
   * if it was recorded before the request added its row, but was committed after the request read the events.
   */
  async function renew(listener: Listener) {
    await listener.query(renewSlots, { serverId });
    const all = [...waiters];
    const missed = await listener.query(selectMissed, {
      accountIds: all.map(({ accountId }) => accountId),
      boardIds: all.map(({ boardId }) => boardId),
      positions: all.map(({ position }) => position),
      types: eventTypes,
    });
    for (const { board_id } of missed) wakeBoard(board_id);
  }

  function renewSoon() {
    timer ??= setTimeout(async () => {
      // If the statement fails, the connection that listens for events is closed. This ends all waits of this process.
      await opening?.then(renew).catch(error => logger.warn({ err: error }, 'could not renew the waits for events'));
      timer = undefined;
      if (waiters.size > 0) renewSoon();
    }, renewIntervalMs).unref();
  }

  async function take({ accountId, tokenId, boardId }: WaitOptions): Promise<Slot> {
    // If a parallel statement takes the same slot first, this statement takes no slot. The next try then chooses
    // another slot.
    for (let tries = 0; tries <= maxWaitsOfToken; tries++) {
      const [taken] = await database.query(takeSlot, { accountId, tokenId, boardId, serverId });
      if (taken) return { accountId, tokenId, slot: taken.slot };
    }
    throw new DomainError('too_many_waits');
  }

  return {
    async hold(options, work) {
      await listen();
      const slot = await take(options);
      const ended = AbortSignal.any([options.signal, connected.signal, stopping.signal]);
      let wake = () => {};
      const waiter = { ...options, wake: () => wake() };
      const onEnd = () => wake();
      ended.addEventListener('abort', onEnd);
      waiters.add(waiter);
      renewSoon();
      try {
        return await work({
          get isOver() {
            return ended.aborted;
          },
          set position(position: number) {
            waiter.position = position;
          },
          nextEvent: () =>
            new Promise(resolve => {
              wake = resolve;
              if (ended.aborted) resolve();
            }),
        });
      } finally {
        ended.removeEventListener('abort', onEnd);
        waiters.delete(waiter);
        await database.query(freeSlot, { ...slot, serverId }).catch(error => {
          logger.warn({ err: error }, 'could not free the slot of a wait for events');
        });
      }
    },
    end: () => stopping.abort(),
    async close() {
      stopping.abort();
      clearTimeout(timer);
      const listener = await opening?.catch(() => undefined);
      await listener?.close();
    },
  };
}
