import { stateOfWindow } from '../../domain/boards/read-board.ts';
import type { Board } from '../../entities/board.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { t } from '../../text/catalogue.ts';
import { type Bound, bounds, type DeadlineForm, storedText, untouchedInOtherZone } from './deadline-form.ts';
import { localBounds, openZone, timeZones, type Zone } from './time-zones.ts';

/**
 * Returns the data of the deadline page. If the person has submitted the form, `form` is set, and the page shows the
 * person's changes again. Otherwise the page shows the stored deadlines.
 */
export function presentDeadlines(
  board: Board,
  { zoneName, form, now }: { zoneName: string; form?: DeadlineForm | undefined; now: Date },
) {
  const zone = openZone(zoneName);
  const untouched = form ? untouchedInOtherZone(board, form) : bounds;
  const present = (bound: Bound) => ({
    field: bound.field,
    label: t(bound.key),
    text: form && !untouched.includes(bound) ? form.textOf(bound) : storedText(board, bound, zone),
    stored: presentStored(board[bound.property], zone),
  });
  const window = (title: string, explanation: string, opening: Bound, closing: Bound) => ({
    title,
    explanation,
    state: stateFlag(board[opening.property], board[closing.property], now),
    bounds: [present(opening), present(closing)],
  });
  const [submissionsOpen, submissionsClose, votingOpens, votingCloses] = bounds;
  return {
    zone: zone.name,
    windows: [
      window(
        t('board_settings.deadlines.submissions'),
        t('board_settings.deadlines.submissions_explanation'),
        submissionsOpen,
        submissionsClose,
      ),
      window(
        t('board_settings.deadlines.voting'),
        t('board_settings.deadlines.voting_explanation'),
        votingOpens,
        votingCloses,
      ),
    ],
    regions: regionsOf(zone.name),
    ...localBounds,
  };
}

function presentStored(time: Date | null | undefined, zone: Zone) {
  if (!time) return undefined;
  const iso = time.toISOString();
  return { inZone: { text: zone.show(time), iso }, inUtc: { text: openZone('UTC').show(time), iso } };
}

function stateFlag(openAt: Date | null | undefined, closeAt: Date | null | undefined, now: Date) {
  const state = openAt || closeAt ? stateOfWindow({ openAt, closeAt }, now) : 'always_open';
  return { label: t(`board_settings.deadlines.states.${state}`), chip: stateChips[state] };
}

const stateChips = {
  always_open: 'chip-outline',
  open: 'chip-completed',
  closed: 'chip-declined',
  not_open_yet: 'chip-planned',
};

function regionsOf(chosen: string) {
  return [...Map.groupBy(timeZones, zone => zone.split('/', 1)[0] ?? zone)].map(([label, zones]) => ({
    label,
    zones: optionsOf(
      zones.map(zone => [
        zone,
        zone
          .replace(/^.*?\//, '')
          .replaceAll('_', ' ')
          .replaceAll('/', ', '),
      ]),
      chosen,
    ),
  }));
}
