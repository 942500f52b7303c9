import type { Board } from '../../entities/board.ts';
import type { ShownTime } from '../shell/show.ts';
import { stateOfWindow, type Window } from './board-page.ts';
import { type Bound, bounds, type DeadlineForm, storedText, untouchedInOtherZone } from './deadline-form.ts';
import { localBounds, openZone, timeZones, type Zone } from './time-zones.ts';

/** The deadlines of a board, as the page shows them. */
export interface PresentedDeadlines {
  zone: string;
  seenAt: string;
  windows: {
    title: string;
    state: ReturnType<typeof stateFlag>;
    explanation: string;
    bounds: PresentedBound[];
  }[];
  regions: { label: string; zones: { value: string; label: string; isChosen: boolean }[] }[];
  min: string;
  max: string;
}

interface PresentedBound {
  field: string;
  label: string;
  /** What stands in the field. */
  text: string;
  /** What is stored; undefined for no bound. */
  stored?: { inZone: ShownTime; inUtc: ShownTime } | undefined;
}

/** The form is what was entered and not saved; without one the fields show what is stored. */
export function presentDeadlines(
  board: Board,
  { zoneName, form, now }: { zoneName: string; form?: DeadlineForm | undefined; now: Date },
): PresentedDeadlines {
  const zone = openZone(zoneName);
  const untouched = form ? untouchedInOtherZone(board, form) : bounds;
  const present = (bound: Bound): PresentedBound => ({
    field: bound.field,
    label: bound.label,
    text: form && !untouched.includes(bound) ? form.textOf(bound) : storedText(board, bound, zone),
    stored: presentStored(board[bound.property], zone),
  });
  const window = (title: string, explanation: string, what: Window, ends: readonly Bound[]) => ({
    title,
    explanation,
    state: stateFlag(what, now),
    bounds: ends.map(present),
  });
  const [submissionsOpen, submissionsClose, votingOpens, votingCloses] = bounds;
  return {
    zone: zone.name,
    seenAt: board.updatedAt.toISOString(),
    windows: [
      window(
        'Submissions',
        'Outside this window new ideas are refused with 423: submissions_not_open_yet before it, submissions_closed after it.',
        { openAt: board.submissionsOpenAt, closeAt: board.submissionsCloseAt },
        [submissionsOpen, submissionsClose],
      ),
      window(
        'Voting',
        'Outside this window votes are refused with 423: voting_not_open_yet before it, voting_closed after it.',
        { openAt: board.votingOpenAt, closeAt: board.votingCloseAt },
        [votingOpens, votingCloses],
      ),
    ],
    regions: regionsOf(zone.name),
    ...localBounds,
  };
}

function presentStored(time: Date | null | undefined, zone: Zone): PresentedBound['stored'] {
  if (!time) return undefined;
  const iso = time.toISOString();
  return { inZone: { text: zone.show(time), iso }, inUtc: { text: openZone('UTC').show(time), iso } };
}

function stateFlag(window: Window, now: Date): { label: string; chip: string } {
  if (!window.openAt && !window.closeAt) return { label: 'Always open', chip: 'chip-outline' };
  const state = stateOfWindow(window, now);
  if (state === 'open') return { label: 'Open now', chip: 'chip-completed' };
  return state === 'closed'
    ? { label: 'Closed', chip: 'chip-declined' }
    : { label: 'Not open yet', chip: 'chip-planned' };
}

/** The zones by their continents, so that a long list can be gone through. */
function regionsOf(chosen: string): PresentedDeadlines['regions'] {
  return [...Map.groupBy(timeZones, zone => zone.split('/', 1)[0] ?? zone)].map(([label, zones]) => ({
    label,
    zones: zones.map(value => ({
      value,
      label: value
        .slice(value.indexOf('/') + 1)
        .replaceAll('_', ' ')
        .replaceAll('/', ', '),
      isChosen: value === chosen,
    })),
  }));
}
