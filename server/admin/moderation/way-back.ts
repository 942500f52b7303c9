import type { FastifyRequest } from 'fastify';
import { mayBlock } from '../../domain/users/block-user.ts';
import type { PersonView } from '../../domain/users/read-people.ts';
import { boardPath, ideaPath as ideaPathOnBoard, pageOfForm } from '../../pages/boards/opened-board.ts';
import { moderationNotices } from '../../pages/boards/present-changes.ts';
import { fieldOf } from '../../pages/shell/form.ts';
import type { Link } from '../../pages/shell/page.ts';
import type { Notices, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';

/*
 * Moderators open a form from the moderation queue, from the page of an idea, or from the idea's page on its board. The
 * form's URL names the previous page, so that the browser can return to that page after the form. The query parameter
 * is from=queue with the position in the queue, from=<id of an idea>, or on=<slug of a board>.
 */

export const notices = {
  ...moderationNotices,
  merged: 'moderation.notices.merged',
  unmerged: 'moderation.notices.unmerged',
  followed: 'moderation.notices.followed',
  unfollowed: 'boards.notices.unfollowed',
  note_added: 'moderation.notices.note_added',
  note_edited: 'moderation.notices.note_edited',
  note_deleted: 'moderation.notices.note_deleted',
  blocked: 'moderation.notices.blocked',
  unblocked: 'moderation.notices.unblocked',
} satisfies Notices;

export type Notice = keyof typeof notices;

/**
 * Returns query parameters for the URL of a form. With these parameters, the browser returns to the moderation queue
 * when the person has sent the form.
 */
export function wayToQueue(visit: Visit): Record<string, string> {
  return { from: 'queue', ...placeInQueue(visit) };
}

/**
 * Returns query parameters for the URL of a form. With these parameters, the browser returns to the idea's page when
 * the person has sent the form.
 */
export function wayToIdea(id: number): Record<string, string> {
  return { from: String(id) };
}

/** Returns the query parameters of the current URL that name the moderator's previous page. */
export function wayOf(visit: Visit): Record<string, string> {
  if (visit.parameter('from') === 'queue') return wayToQueue(visit);
  const slug = visit.parameter('on');
  if (slug !== '') return { on: slug };
  const id = visit.number('from');
  return id === undefined ? {} : wayToIdea(id);
}

/**
 * Returns the path of the moderator's previous page. If the URL names no previous page, returns `otherwise`. For a
 * moderator who came from a board, returns the path of the idea's page on the board. With `isGone`, returns the path of
 * the board instead, because the idea no longer has a page. Pass `ideaId` to return to another idea, such as the target
 * of a merge.
 */
export function wayBack(
  visit: Visit,
  otherwise: string,
  parameters: { notice?: Notice } = {},
  { isGone = false, ideaId }: { isGone?: boolean; ideaId?: number } = {},
): string {
  if (visit.parameter('from') === 'queue') {
    return visit.path('/admin/queue', { ...placeInQueue(visit), ...parameters });
  }
  const slug = visit.parameter('on');
  if (slug !== '')
    return visit.path(isGone ? boardPath(slug) : ideaPathOnBoard(slug, ideaId ?? visit.id()), parameters);
  const id = visit.number('from');
  return visit.path(id === undefined ? otherwise : ideaPath(id), parameters);
}

/** Returns the link to the page of a board that contains the form of a request, or undefined for other forms. */
export function linkToBoard(request: FastifyRequest): Link | undefined {
  const slug = fieldOf(request.query, 'on');
  return slug === '' ? undefined : { label: t('shell.labels.back'), href: pageOfForm(request, boardPath(slug)) };
}

export function ideaPath(id: number): string {
  return `/admin/ideas/${id}`;
}

function placeInQueue(visit: Visit): Record<string, string> {
  const fields = ['board', 'cursor'].map(name => [name, visit.parameter(name)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}

/**
 * Returns whether a person is blocked, with the path of the form that blocks or unblocks the person. `person` is
 * undefined if the person is no member of the account, for example because the person was erased.
 */
export function presentPerson(visit: Visit, person: PersonView | undefined, way: Record<string, string>) {
  if (!person) return { isBlocked: false };
  const mayReader = person.id !== visit.user.id && mayBlock(visit.account.role, person.role);
  return {
    isBlocked: person.is_blocked,
    blockPath: mayReader ? visit.path(`/admin/blocks/${person.id}`, way) : undefined,
  };
}
