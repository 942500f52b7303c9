import type { EventType } from '../../../contract/events.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { NamedBoard } from '../../domain/boards/list-boards.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import { fieldOf } from '../../pages/shell/form.ts';
import { shownName } from '../../pages/shell/show.ts';
import { type TextKey, t } from '../../text/catalogue.ts';

export function boardOptions(boards: readonly NamedBoard[], chosen: string) {
  return optionsOf(
    boards.map(({ slug, name }) => [slug, shownName(name)]),
    chosen,
  );
}

/**
 * Returns the board that the user chose in a form. Throws if the board was deleted or renamed after the form was
 * loaded.
 */
export function chosenBoard(boards: readonly NamedBoard[], slug: string): NamedBoard {
  const board = boards.find(one => one.slug === slug);
  if (board) return board;
  throw new AdministrationError('invalid', t('shell.admin.unknown_board'));
}

const eventLabels = {
  'idea.created': 'shell.admin.events.idea_created',
  'idea.status_changed': 'shell.admin.events.idea_status_changed',
  'idea.merged': 'shell.admin.events.idea_merged',
  'idea.unmerged': 'shell.admin.events.idea_unmerged',
  'idea.voted': 'shell.admin.events.idea_voted',
  'comment.created': 'shell.admin.events.comment_created',
  'idea.updated': 'shell.admin.events.idea_updated',
  'idea.deleted': 'shell.admin.events.idea_deleted',
  'idea.tagged': 'shell.admin.events.idea_tagged',
  'comment.updated': 'shell.admin.events.comment_updated',
  'comment.deleted': 'shell.admin.events.comment_deleted',
} as const satisfies Record<EventType, TextKey>;

export function eventChoices(types: readonly EventType[], chosen: readonly string[]) {
  return types.map(type => ({
    field: `event_${type}`,
    type,
    label: t(eventLabels[type]),
    isChosen: chosen.includes(type),
  }));
}

export function readEventChoices(body: unknown, types: readonly EventType[]): EventType[] {
  return types.filter(type => fieldOf(body, `event_${type}`) !== '');
}
