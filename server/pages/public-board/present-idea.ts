import type { Config } from '../../config.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { shortLine } from '../../text/plain-text.ts';
import type { Frame } from '../shell/page.ts';

/** The end of the page's header, and the form_token of a signed-in visitor. */
export type VisitorPart = Pick<Frame, 'actions' | 'formToken'>;

/** Builds the frame of a page of a public board. Search engines may index a page only if it has a canonical path. */
export function boardFrame(
  board: { slug: string; name: string },
  {
    config,
    title,
    visitor: { actions, formToken },
    canonicalPath,
    isBoard = true,
  }: {
    config: Pick<Config, 'BASE_URL'>;
    title: string;
    visitor: VisitorPart;
    canonicalPath?: string;
    isBoard?: boolean;
  },
): Frame {
  return {
    title,
    actions,
    ...(formToken === undefined ? {} : { formToken }),
    navigation: [{ label: shortLine(board.name, 100), href: boardPath(board.slug), isCurrent: isBoard }],
    ...(canonicalPath === undefined ? {} : { canonicalUrl: `${config.BASE_URL}${canonicalPath}` }),
  };
}

export function boardPath(slug: string): string {
  return `/b/${encodeURIComponent(slug)}`;
}

export function ideaPath(slug: string, id: number): string {
  return `${boardPath(slug)}/ideas/${id}`;
}

/**
 * Returns an idea for a page. Puts names and titles on one line without control characters, so that a name cannot
 * imitate another name.
 */
export function presentIdea(idea: IdeaView) {
  return {
    title: shortLine(idea.title, 200),
    status: { label: shortLine(idea.status_label, 60), category: idea.status_category },
    tags: idea.tags.map(({ name, color }) => ({ name: shortLine(name, 40), color })),
    score: idea.score,
    upCount: idea.up_count,
    downCount: idea.down_count,
    commentCount: idea.comment_count,
    authorName: presentName(idea.author_name),
    createdAt: presentTime(idea.created_at),
  };
}

export function presentName(name: string): string {
  return shortLine(name, 100, '(no name)');
}

const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/**
 * Formats a time as a day in UTC. The page is cached and the same for all readers, so it cannot use their time zones.
 */
export function presentTime(time: string): { iso: string; text: string } {
  const date = new Date(time);
  return { iso: date.toISOString(), text: dates.format(date) };
}
