import { AdministrationError } from '../../domain/administration.ts';
import type { BoardChanges } from '../../domain/boards/edit-board.ts';
import type { Board } from '../../entities/board.ts';
import { fieldOf } from '../../pages/shell/form.ts';
import { t } from '../../text/catalogue.ts';
import { isTimeZone, openZone, type Zone } from './time-zones.ts';

/**
 * The opening and closing times for submissions and for voting. The form's fields have the same names as the fields of
 * the API.
 */
export const bounds = [
  {
    field: 'submissions_open_at',
    property: 'submissionsOpenAt',
    key: 'board_settings.deadlines.bounds.submissions_open_at',
  },
  {
    field: 'submissions_close_at',
    property: 'submissionsCloseAt',
    key: 'board_settings.deadlines.bounds.submissions_close_at',
  },
  { field: 'voting_open_at', property: 'votingOpenAt', key: 'board_settings.deadlines.bounds.voting_open_at' },
  { field: 'voting_close_at', property: 'votingCloseAt', key: 'board_settings.deadlines.bounds.voting_close_at' },
] as const;

export type Bound = (typeof bounds)[number];

export interface DeadlineForm {
  /** The time zone of the local times that the person submits. */
  zone: string;
  /** The form that the person filled in showed the stored times in this time zone. */
  shownZone: string;
  seenAt: string;
  /**
   * Returns the text in a deadline's form field: a day and time, or an empty text if the person entered no deadline.
   */
  textOf(bound: Bound): string;
}

export function readDeadlineForm(body: unknown): DeadlineForm {
  const zone = fieldOf(body, 'zone');
  if (!isTimeZone(zone)) throw new AdministrationError('invalid', t('board_settings.deadlines.unknown_zone'));
  const shownZone = fieldOf(body, 'shown_zone');
  return {
    zone,
    shownZone: isTimeZone(shownZone) ? shownZone : zone,
    seenAt: fieldOf(body, 'seen_at'),
    textOf: ({ field }) => fieldOf(body, field).trim(),
  };
}

export function storedText(board: Board, { property }: Bound, zone: Zone): string {
  const time = board[property];
  return time ? zone.localTextOf(time) : '';
}

/**
 * Returns the times that the person left unchanged while choosing another time zone. The server cannot know the
 * person's intention: to keep these local times in the new zone, or only to see the stored times in that zone.
 */
export function untouchedInOtherZone(board: Board, form: DeadlineForm): readonly Bound[] {
  if (form.zone === form.shownZone) return [];
  const shownZone = openZone(form.shownZone);
  return bounds.filter(bound => board[bound.property] && form.textOf(bound) === storedText(board, bound, shownZone));
}

/**
 * Returns the changed deadlines. `twice` lists the changed deadlines whose local time occurs twice, because clocks go
 * back on that day.
 */
export function changesOf(board: Board, form: DeadlineForm): { changes: BoardChanges; twice: Bound[] } {
  const zone = openZone(form.zone);
  const changes: BoardChanges = {};
  const twice: Bound[] = [];
  for (const bound of bounds) {
    const text = form.textOf(bound);
    // Skips an unchanged deadline, so that the stored time stays exactly the same. When clocks go back, the text in the
    // form can mean two times.
    if (text === storedText(board, bound, zone)) continue;
    const times = text === '' ? [null] : timesOf(text, bound, zone);
    // A local time occurs twice when clocks go back. The server then stores the first occurrence, and the page shows
    // that time in UTC.
    changes[bound.property] = times[0] ?? null;
    if (times.length > 1) twice.push(bound);
  }
  return { changes, twice };
}

function timesOf(text: string, { key }: Bound, zone: Zone): Date[] {
  const times = zone.timesOf(text);
  const bound = t(key);
  if (!times) throw new AdministrationError('invalid', t('board_settings.deadlines.invalid_time', { bound }));
  if (times.length > 0) return times;
  const skipped = { bound, zone: zone.name, time: text.replace('T', ' ') };
  throw new AdministrationError('invalid', t('board_settings.deadlines.skipped_time', skipped));
}
