import { AdministrationError } from '../../domain/administration.ts';
import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import { shownName } from './shown-name.ts';

/** A board to choose in a form. */
export interface BoardChoice {
  slug: string;
  name: string;
  isChosen: boolean;
}

export function boardChoices(boards: readonly NamedBoard[], chosen: string): BoardChoice[] {
  return boards.map(({ slug, name }) => ({ slug, name: shownName(name), isChosen: slug === chosen }));
}

/** The board that was chosen. It may be gone by now, or have another slug: then the form is shown again with those there are. */
export function chosenBoard(boards: readonly NamedBoard[], slug: string): NamedBoard {
  const board = boards.find(one => one.slug === slug);
  if (board) return board;
  throw new AdministrationError('invalid', 'Choose a board from the list');
}
