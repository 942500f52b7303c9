import { type Expression, sql as fragment, type Kysely } from 'kysely';
import { eventTypes } from '../../../contract/events.ts';
import { keptEventDays } from '../../../contract/limits.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { DomainError } from '../domain-error.ts';
import type { Operation } from '../operation.ts';
import { hourOf, incarnationOf } from './event-cursor.ts';

/**
 * Identifies the database. After a restore from a backup, the cluster identifier or the timeline differs. After a
 * restore from a dump, the id of the table event_positions differs.
 */
const incarnation = fragment<string>`concat_ws(' ', (pg_control_system()).system_identifier,
  left(pg_walfile_name(pg_current_wal_lsn()), 8), to_regclass('event_positions')::oid)`;

/**
 * Identifies a run of the database. After a restore of copied files, only the start time of PostgreSQL differs from the
 * time before the restore.
 */
const databaseRun = fragment<string>`concat_ws(' ', ${incarnation}, extract(epoch from pg_postmaster_start_time()))`;

export async function selectIncarnation(db: Kysely<Tables>): Promise<string> {
  const row = await db.selectNoFrom(incarnation.as('incarnation')).executeTakeFirstOrThrow();
  return incarnationOf(row.incarnation);
}

interface FeedArguments {
  accountId: number;
  boardId: number;
  types: readonly string[];
  position: number;
  now: Date;
}

/**
 * A request for events of the type idea.voted makes the board record votes for votesFollowedDays. If fewer than
 * renewedDays of this period are left, the next request starts the period again.
 */
export const votesFollowedDays = keptEventDays + 2;
const renewedDays = keptEventDays + 1;

/**
 * Selects the newest position of a board, the event at a given position, and whether the board has events without a
 * position.
 */
const selectFeed = query('select_event_feed', (db, $: Arguments<FeedArguments>) =>
  db
    .selectFrom('boards as b')
    .where(b => b.and({ 'b.account_id': $.accountId, 'b.id': $.boardId }))
    .leftJoinLateral(
      from =>
        from
          .selectFrom(typesOf($.types))
          .crossJoinLateral(newest =>
            newest
              .selectFrom('event_positions as p')
              .select(['p.position', 'p.event_id'])
              .where(p => p.and({ 'p.account_id': $.accountId, 'p.board_id': $.boardId }))
              .whereRef('p.type', '=', 't.type')
              .where('p.position', 'is not', null)
              .orderBy('p.position', 'desc')
              .limit(1)
              .as('newest'),
          )
          .select(['newest.position', 'newest.event_id'])
          .orderBy('newest.position', 'desc')
          .limit(1)
          .as('head'),
      join => join.onTrue(),
    )
    .leftJoin('event_positions as found', join =>
      join
        .on(found => found.and({ 'found.account_id': $.accountId, 'found.board_id': $.boardId }))
        .on(found => found('found.type', '=', found.fn.any($.types)))
        .on('found.position', '=', $.position),
    )
    .leftJoin('events as newest', join =>
      join.onRef('newest.id', '=', 'head.event_id').on('newest.account_id', '=', $.accountId),
    )
    .select([
      'head.position as head',
      'head.event_id as head_event_id',
      'newest.occurred_at as head_occurred_at',
      'found.event_id',
      databaseRun.as('incarnation'),
    ])
    .select(b => [
      b
        .exists(
          b
            .selectFrom('event_positions as u')
            .where(u => u.and({ 'u.account_id': $.accountId, 'u.board_id': $.boardId }))
            .where('u.position', 'is', null),
        )
        .$castTo<boolean>()
        .as('has_unplaced'),
      b
        .exists(
          b
            .selectFrom('vote_followings as f')
            .where(f => f.and({ 'f.account_id': $.accountId, 'f.board_id': $.boardId }))
            .where(
              'f.expires_at',
              '>',
              fragment<string>`${$.now}::timestamptz + ${fragment.lit(renewedDays)} * interval '1 day'`,
            ),
        )
        .$castTo<boolean>()
        .as('has_votes'),
    ]),
);

export function typesOf(types: Expression<readonly string[]>) {
  return fragment<{ type: string }>`unnest(${types}::text[])`.as<'t'>(fragment`t(type)`);
}

export interface Feed {
  head: number | null;
  headEventId: string | null;
  headHour: number;
  eventId: string | null;
  hasUnplaced: boolean;
  hasVotes: boolean;
  incarnation: string;
}

export async function readFeed({ query, actor, now }: Operation, position: number): Promise<Feed> {
  const { accountId, boardId } = actor;
  const [row] = await query(selectFeed, { accountId, boardId, types: eventTypes, position, now });
  // The board was deleted during the request.
  if (!row) throw new DomainError('board_not_granted');
  return {
    head: row.head,
    headEventId: row.head_event_id,
    headHour: row.head_occurred_at === null ? 0 : hourOf(new Date(row.head_occurred_at)),
    eventId: row.event_id,
    hasUnplaced: row.has_unplaced,
    hasVotes: row.has_votes,
    incarnation: incarnationOf(row.incarnation),
  };
}
