import { maxTagsOfIdea } from '../../../contract/limits.ts';
import type { BoardView } from '../../domain/boards/read-board.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { optionsOf } from '../shell/choices.ts';
import type { Notices, Visit } from '../shell/visit.ts';

/**
 * The notices that a page shows after a moderator has changed an idea. Board pages and the admin area show these
 * notices.
 */
export const moderationNotices = {
  approved: 'boards.notices.approved',
  approved_already: 'boards.notices.approved_already',
  rejected: 'boards.notices.rejected',
  rejected_already: 'boards.notices.rejected_already',
  status_set: 'boards.notices.status_set',
  tag_added: 'boards.notices.tag_added',
  tag_removed: 'boards.notices.tag_removed',
} satisfies Notices;

/**
 * Returns the forms for moderators to change an idea. Returns undefined for pending and merged ideas, and on a frozen
 * board. A refused form keeps the values that the moderator entered, even if the board was frozen meanwhile.
 */
export function presentChanges(visit: Pick<Visit, 'field'>, idea: IdeaView, board: BoardView) {
  const isClosed = idea.moderation_state === 'pending' || idea.merged_into_id !== null || board.is_frozen;
  if (isClosed && visit.field('reply') === '') return undefined;
  const assigned = new Set(idea.tags.map(({ id }) => id));
  return {
    statuses: optionsOf(
      board.statuses.map(({ key, label, is_hidden }) => [key, labelOf(label, is_hidden)]),
      visit.field('status') || idea.status_key,
    ),
    reply: visit.field('reply'),
    tags: idea.tags.map(({ id, name, color }) => ({
      name: shortLine(name, 40),
      color,
      id,
    })),
    // The maximum number of tags, if the idea has already reached this number. Undefined if the idea can get more tags.
    maxTags: idea.tags.length >= maxTagsOfIdea ? maxTagsOfIdea : undefined,
    otherTags: optionsOf(
      board.tags.filter(({ id }) => !assigned.has(id)).map(({ id, name }) => [String(id), shortLine(name, 40)]),
    ),
  };
}

function labelOf(label: string, isHidden: boolean): string {
  const status = shortLine(label, 60);
  return isHidden ? t('boards.changes.hidden_status', { status }) : status;
}
