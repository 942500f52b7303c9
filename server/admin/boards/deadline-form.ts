import { AdministrationError } from '../../domain/administration.ts';
import type { BoardChanges } from '../../domain/boards/edit-board.ts';
import type { Board } from '../../entities/board.ts';
import { fieldOf } from '../shell/form.ts';
import { isTimeZone, openZone, type Zone } from './time-zones.ts';

/** The bounds of the two windows, by the fields of the form, which have the names of the API. */
export const bounds = [
  { field: 'submissions_open_at', property: 'submissionsOpenAt', label: 'Submissions open' },
  { field: 'submissions_close_at', property: 'submissionsCloseAt', label: 'Submissions close' },
  { field: 'voting_open_at', property: 'votingOpenAt', label: 'Voting opens' },
  { field: 'voting_close_at', property: 'votingCloseAt', label: 'Voting closes' },
] as const;

export type Bound = (typeof bounds)[number];

/** What was entered in the form of the deadlines. */
export interface DeadlineForm {
  /** In which the times were entered. */
  zone: string;
  /** In which the form showed what is stored. */
  shownZone: string;
  seenAt: string;
  /** The time of day of a bound, as its field has it; empty for no bound. */
  textOf(bound: Bound): string;
}

export function readDeadlineForm(body: unknown): DeadlineForm {
  const zone = fieldOf(body, 'zone');
  if (!isTimeZone(zone)) throw new AdministrationError('invalid', 'Choose a time zone from the list');
  const shownZone = fieldOf(body, 'shown_zone');
  return {
    zone,
    shownZone: isTimeZone(shownZone) ? shownZone : zone,
    seenAt: fieldOf(body, 'seen_at'),
    textOf: ({ field }) => fieldOf(body, field).trim(),
  };
}

/** What a field shows of a bound that is stored. */
export function storedText(board: Board, { property }: Bound, zone: Zone): string {
  const time = board[property];
  return time ? zone.localTextOf(time) : '';
}

/**
 * The bounds that are left as the form showed them, which was in another zone than the one now chosen. Whether their times
 * are meant in that one, or are only to be seen in it, the form does not tell.
 */
export function untouchedInOtherZone(board: Board, form: DeadlineForm): readonly Bound[] {
  if (form.zone === form.shownZone) return [];
  const shownZone = openZone(form.shownZone);
  return bounds.filter(bound => board[bound.property] && form.textOf(bound) === storedText(board, bound, shownZone));
}

/** The changes that the form asks for, and which of its times come twice on their day. */
export function changesOf(board: Board, form: DeadlineForm): { changes: BoardChanges; twice: Bound[] } {
  const zone = openZone(form.zone);
  const changes: BoardChanges = {};
  const twice: Bound[] = [];
  for (const bound of bounds) {
    const text = form.textOf(bound);
    // What was not touched stays to the millisecond, and the second of two times that look the same stays that one.
    if (text === storedText(board, bound, zone)) continue;
    const times = text === '' ? [null] : timesOf(text, bound, zone);
    // Clocks that go back show some times twice: the first is meant, and the page says which time that is in UTC.
    changes[bound.property] = times[0] ?? null;
    if (times.length > 1) twice.push(bound);
  }
  return { changes, twice };
}

function timesOf(text: string, { label }: Bound, zone: Zone): Date[] {
  const times = zone.timesOf(text);
  if (!times) throw new AdministrationError('invalid', `${label}: give a day and a time, such as 2026-03-14 09:00`);
  if (times.length > 0) return times;
  throw new AdministrationError(
    'invalid',
    `${label}: there is no ${text.replace('T', ' ')} in ${zone.name}, because clocks go forward over it. Give a time before or after`,
  );
}
