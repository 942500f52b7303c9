import { type Grant, grants } from '../../../contract/grants.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import { fieldOf } from '../shell/form.ts';
import { shownName } from '../shell/show.ts';

/** What was entered in the form of a new token. */
interface GivenToken {
  name: string;
  /** A day, as 2026-03-14; empty for no end. */
  expiresOn: string;
  /** The level chosen for a board, empty for none. */
  levelOf(boardId: number): string;
}

/** The form as it is shown, with what was entered in it. */
export interface TokenForm {
  name: string;
  expiresOn: string;
  boards: {
    field: string;
    name: string;
    slug: string;
    levels: { value: string; label: string; isChosen: boolean }[];
  }[];
}

export const emptyTokenForm: GivenToken = { name: '', expiresOn: '', levelOf: () => '' };

export function readTokenForm(body: unknown): GivenToken {
  return {
    name: fieldOf(body, 'name'),
    expiresOn: fieldOf(body, 'expires_on'),
    levelOf: boardId => fieldOf(body, fieldOfBoard(boardId)),
  };
}

export function formOf({ name, expiresOn, levelOf }: GivenToken, boards: NamedBoard[]): TokenForm {
  return {
    name,
    expiresOn,
    boards: boards.map(board => ({
      field: fieldOfBoard(board.id),
      name: shownName(board.name),
      slug: board.slug,
      levels: ['', ...grants].map(value => ({
        value,
        label: labels[value as Grant | ''],
        isChosen: levelOf(board.id) === value,
      })),
    })),
  };
}

const labels: Record<Grant | '', string> = {
  '': 'No access',
  read: 'Read',
  write: 'Write',
  moderate: 'Moderate',
};

/** The boards that were chosen, of those of the account. */
export function grantsOf({ levelOf }: GivenToken, boards: NamedBoard[]): { boardId: number; grant: Grant }[] {
  return boards.flatMap(({ id, name }) => {
    const level = levelOf(id);
    if (level === '') return [];
    const grant = grants.find(one => one === level);
    if (!grant) throw new AdministrationError('invalid', `Choose a level for the board ${name}`);
    return [{ boardId: id, grant }];
  });
}

const dayMs = 86_400_000;

/** The end of the day that was chosen, in UTC. */
export function expiryOf({ expiresOn }: GivenToken): Date | null {
  if (expiresOn === '') return null;
  const day = /^\d{4}-\d{2}-\d{2}$/.test(expiresOn) ? Date.parse(`${expiresOn}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(day)) throw new AdministrationError('invalid', 'Give the day of expiry as year-month-day');
  return new Date(day + dayMs);
}

function fieldOfBoard(boardId: number): string {
  return `level_${boardId}`;
}
