import type { EventType } from '../../../contract/events.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import { fieldOf } from './form.ts';
import { shownName } from './show.ts';

/** The options of a select of boards. */
export function boardChoices(boards: readonly NamedBoard[], chosen: string) {
  return boards.map(({ slug, name }) => ({ slug, name: shownName(name), isChosen: slug === chosen }));
}

/** The chosen board. If it was deleted or renamed meanwhile, the form is shown again with the boards of now. */
export function chosenBoard(boards: readonly NamedBoard[], slug: string): NamedBoard {
  const board = boards.find(one => one.slug === slug);
  if (board) return board;
  throw new AdministrationError('invalid', 'Choose a board from the list');
}

const labels: Record<EventType, string> = {
  'idea.created': 'An idea is published',
  'idea.status_changed': 'An idea moves to another status',
  'idea.merged': 'An idea is merged into another one',
  'idea.unmerged': 'A merge is undone',
  'idea.voted': 'A vote is cast, changed or withdrawn',
  'comment.created': 'A comment is added',
};

/** A checkbox for each type of event. */
export function eventChoices(types: readonly EventType[], chosen: readonly string[]) {
  return types.map(type => ({
    field: fieldOfType(type),
    type,
    label: labels[type],
    isChosen: chosen.includes(type),
  }));
}

/** The ticked types. */
export function readEventChoices(body: unknown, types: readonly EventType[]): EventType[] {
  return types.filter(type => fieldOf(body, fieldOfType(type)) !== '');
}

function fieldOfType(type: EventType): string {
  return `event_${type}`;
}
