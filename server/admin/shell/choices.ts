import type { EventType } from '../../../contract/events.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { fieldOf } from '../../pages/shell/form.ts';
import { shownName } from '../../pages/shell/show.ts';

export function boardOptions(boards: readonly NamedBoard[], chosen: string) {
  return optionsOf(
    boards.map(({ slug, name }) => [slug, shownName(name)]),
    chosen,
  );
}

/** Returns the board that the user chose in a form. It may have been deleted or renamed since the form was loaded. */
export function chosenBoard(boards: readonly NamedBoard[], slug: string): NamedBoard {
  const board = boards.find(one => one.slug === slug);
  if (board) return board;
  throw new AdministrationError('invalid', 'Choose a board from the list');
}

const eventLabels: Record<EventType, string> = {
  'idea.created': 'An idea is published',
  'idea.status_changed': 'The status of an idea changes',
  'idea.merged': 'An idea is merged into another idea',
  'idea.unmerged': 'A merge is undone',
  'idea.voted': 'A vote is cast, changed or withdrawn',
  'comment.created': 'A comment is added',
};

export function eventChoices(types: readonly EventType[], chosen: readonly string[]) {
  return types.map(type => ({
    field: `event_${type}`,
    type,
    label: eventLabels[type],
    isChosen: chosen.includes(type),
  }));
}

export function readEventChoices(body: unknown, types: readonly EventType[]): EventType[] {
  return types.filter(type => fieldOf(body, `event_${type}`) !== '');
}
