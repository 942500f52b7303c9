import { sql as fragment } from 'kysely';
import { defaultEventTypes, type EventBody, type EventType } from '../../../contract/events.ts';
import { keptEventDays } from '../../../contract/limits.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import type { LinkSettings } from '../ideas/present-idea.ts';
import type { Operation } from '../operation.ts';
import { decodeEventCursor, type EventCursor, encodeEventCursor, hourMs, hourOf } from './event-cursor.ts';
import { type Feed, readFeed, typesOf, votesFollowedDays } from './event-feed.ts';
import { presentEvent, recordedEventOf } from './recorded-event.ts';

/*
 * The transaction that records its event first can commit last. A client that remembers the newest event could
 * therefore miss an event that is committed later. To prevent this, an event gets its position in the list only after
 * its commit. The first request for new events assigns positions to all committed events of the board (see the database
 * function place_events).
 */

export interface EventFilter {
  /** The list contains the events after this cursor. If undefined, the list begins with the oldest event. */
  after: EventCursor | 'now' | undefined;
  types: readonly EventType[] | undefined;
  limit: number;
}

export interface EventPage {
  rows: ListedEvent[];
  /** Returns the cursor directly after the given event of the page. */
  placeAfter(event: ListedEvent): EventCursor;
  hasMore: boolean;
  /**
   * The cursor for the next request: after the last event of the page, or after the newest event if no more events
   * exist.
   */
  next: EventCursor;
}

type ListedEvent = RowOf<typeof selectEvents>;

/** Reads the parameter `after`. Throws validation_failed if the parameter is no cursor of the board. */
export function readPlace(after: string | undefined, boardId: number): EventFilter['after'] {
  if (after === undefined || after === 'now') return after;
  const cursor = decodeEventCursor(after);
  if (cursor?.boardId !== boardId) {
    const issue = { path: ['query', 'after'], code: 'custom', message: 'Is not a cursor of an event of this board' };
    throw new DomainError('validation_failed', { issues: [issue] });
  }
  return cursor;
}

/**
 * Makes the board record its votes for some days. A cursor is valid for fewer days, so a client with a valid cursor
 * misses no vote.
 */
const followVotes = query('follow_votes', (db, $: Arguments<{ accountId: number; boardId: number; expiresAt: Date }>) =>
  db
    .insertInto('vote_followings')
    .values({ account_id: $.accountId, board_id: $.boardId, expires_at: $.expiresAt })
    .onConflict(conflict =>
      conflict.columns(['account_id', 'board_id']).doUpdateSet(row => ({ expires_at: row.ref('excluded.expires_at') })),
    ),
);

const placeEvents = query('place_events', (db, $: Arguments<{ accountId: number; boardId: number; limit: number }>) =>
  db.selectNoFrom(
    fragment<number>`place_events(${$.accountId}::bigint, ${$.boardId}::bigint, ${$.limit}::integer)`.as('count'),
  ),
);

interface Read {
  accountId: number;
  boardId: number;
  types: readonly string[];
  after: number;
  head: number;
  isModerator: boolean;
  limit: number;
}

/**
 * Reads the next events of each type from the index, and merges them. So the query does not scan events of other types.
 */
const selectEvents = query('select_events_after', (db, $: Arguments<Read>) =>
  db
    .selectFrom(from =>
      from
        .selectFrom(typesOf($.types))
        .crossJoinLateral(nextOfType =>
          nextOfType
            .selectFrom('event_positions as p')
            .select(['p.event_id', p => p.ref('p.position').$notNull().as('position')])
            .where(p => p.and({ 'p.account_id': $.accountId, 'p.board_id': $.boardId }))
            .whereRef('p.type', '=', 't.type')
            .where('p.position', '>', $.after)
            .where('p.position', '<=', $.head)
            .where(p => p.or([p('p.is_pending', '=', false), $.isModerator]))
            .orderBy('p.position')
            .limit($.limit)
            .as('next'),
        )
        .select(['next.event_id', 'next.position'])
        .orderBy('next.position')
        .limit($.limit)
        .as('page'),
    )
    .innerJoin('events as e', join => join.onRef('e.id', '=', 'page.event_id').on('e.account_id', '=', $.accountId))
    .select(['e.id', 'page.position'])
    .select(recordedEventOf)
    .orderBy('page.position'),
);

/**
 * Selects the position of the last event that is older than the API promises to keep. A list that starts with the oldest
 * event starts after this position. Otherwise, the cursors of its first events would already have expired. The plan must
 * use the index on the time, so PostgreSQL plans the statement for the given time.
 */
const selectStart = query(
  'select_start_of_events',
  (db, $: Arguments<{ accountId: number; boardId: number; since: Date }>) =>
    db
      .selectFrom('events as e')
      .innerJoin('event_positions as p', join =>
        join.on('p.account_id', '=', $.accountId).onRef('p.event_id', '=', 'e.id'),
      )
      .select(({ fn }) => fn.max('p.position').as('position'))
      .where(e => e.and({ 'e.account_id': $.accountId, 'e.board_id': $.boardId }))
      .where('e.occurred_at', '<', $.since),
  { isPrepared: false },
);

/**
 * The maximum number of events that get a position in one transaction, and the maximum number of these transactions in
 * one request.
 */
const placedAtOnce = 2_000;
const maxPlacings = 10;

/**
 * Lists the events of the actor's board after a cursor, oldest first. Throws cursor_expired for an old cursor. Assigns
 * positions to at most 20,000 events, so that even the first request for a busy board gets its answer soon.
 */
export async function listEvents(
  op: Operation,
  { after, types = defaultEventTypes, limit }: EventFilter,
): Promise<EventPage> {
  const { accountId, boardId, isModerator } = op.actor;
  const board = { accountId, boardId };
  const from = typeof after === 'object' ? after.position : 0;
  let feed = await readFeed(op, from);
  if (types.includes('idea.voted') && !feed.hasVotes) {
    const expiresAt = new Date(op.now.getTime() + votesFollowedDays * 24 * 3_600_000);
    await op.query(followVotes, { ...board, expiresAt });
  }
  if (typeof after === 'object') checkPlace(after, feed, op.now);
  let rows: ListedEvent[] = [];
  let isOver = false;
  for (let placings = 0; ; placings++) {
    const head = feed.head ?? 0;
    if (after !== 'now' && head > from) {
      const read = { ...board, types, head, isModerator, limit: limit + 1 };
      rows = await op.query(selectEvents, { ...read, after: from });
      if (after === undefined && rows[0] && hourOf(new Date(rows[0].occurred_at)) < oldestHourOf(op.now)) {
        rows = await op.query(selectEvents, { ...read, after: await findStart() });
      }
      isOver = rows.length > limit || placings >= maxPlacings;
    }
    if (!feed.hasUnplaced || isOver) break;
    const [placed] = await op.query(placeEvents, { ...board, limit: placedAtOnce });
    // To skip all earlier events, the server must first assign positions to all events that were committed before this
    // request.
    isOver = after === 'now' && (placed?.count ?? 0) < placedAtOnce;
    feed = await readFeed(op, from);
  }
  const hasMore = rows.length > limit || (after !== 'now' && feed.hasUnplaced);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const { incarnation } = feed;
  const next = rows.length > limit && last ? placeAfter(last) : newestPlace(boardId, feed, op.now, after);
  return { rows: page, placeAfter, hasMore, next };

  async function findStart(): Promise<number> {
    const [start] = await op.query(selectStart, { ...board, since: new Date(oldestHourOf(op.now) * hourMs) });
    return start?.position ?? 0;
  }

  function placeAfter(event: ListedEvent): EventCursor {
    const following = rows[rows.indexOf(event) + 1];
    const eventHour = hourOf(new Date(event.occurred_at));
    const hour = following ? hourOf(new Date(following.occurred_at)) : feed.hasUnplaced ? eventHour : hourOf(op.now);
    return { boardId, position: event.position, event: event.id.slice(0, 8), incarnation, hour, eventHour };
  }
}

/** Returns the oldest hour whose events the API promises to keep. */
function oldestHourOf(now: Date): number {
  return hourOf(now) - keptEventDays * 24;
}

/**
 * Refuses a cursor if events after it may be missing. If PostgreSQL was restarted or replaced, for example for a restore
 * from a backup, the cursor is valid only if its event still has its position, or is so old that it may have been
 * deleted.
 */
function checkPlace(after: EventCursor, feed: Feed, now: Date) {
  const oldestHour = oldestHourOf(now);
  const isSameRun = after.incarnation === feed.incarnation || after.position === 0;
  const isKnown = feed.eventId?.startsWith(after.event) ?? (isSameRun || after.eventHour < oldestHour);
  if (after.hour < oldestHour || !isKnown) throw new DomainError('cursor_expired');
}

function newestPlace(boardId: number, feed: Feed, now: Date, after: EventFilter['after']): EventCursor {
  const { head, headEventId, headHour, incarnation } = feed;
  const hour = hourOf(now);
  // If the newest events were deleted after the last request, the request's cursor is newer than all events. Returns
  // this cursor again, with the current hour.
  if (typeof after === 'object' && after.position > (head ?? 0)) return { ...after, hour };
  const event = headEventId?.slice(0, 8) ?? '00000000';
  return { boardId, position: head ?? 0, event, incarnation, hour, eventHour: headHour };
}

interface PresentOptions {
  config: LinkSettings;
  /** Cuts the bodies of ideas to this number of characters. */
  maxBodyLength: number | undefined;
}

export function presentEvents({ rows, placeAfter, hasMore, next }: EventPage, options: PresentOptions) {
  return {
    data: rows.map(event => ({
      id: `evt_${event.id}`,
      cursor: encodeEventCursor(placeAfter(event)),
      event: presentListed(event, options),
    })),
    has_more: hasMore,
    next_cursor: encodeEventCursor(next),
  };
}

function presentListed(event: ListedEvent, { config, maxBodyLength }: PresentOptions): EventBody {
  const body = presentEvent(event, config);
  if (maxBodyLength === undefined) return body;
  const { idea, target, ...others } = body.data as { idea: EventIdea; target?: EventIdea };
  const data = {
    ...others,
    idea: excerptOf(idea, maxBodyLength),
    ...(target && { target: excerptOf(target, maxBodyLength) }),
  };
  return { ...body, data } as EventBody;
}

type EventIdea = EventBody['data']['idea'];

function excerptOf(idea: EventIdea, maxLength: number): EventIdea {
  const characters = [...idea.body];
  const isCut = characters.length > maxLength;
  return { ...idea, body: isCut ? characters.slice(0, maxLength).join('') : idea.body, body_truncated: isCut };
}
