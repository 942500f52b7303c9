import type { StatusCategory } from '../../../contract/status.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { shortLine } from '../../text/plain-text.ts';
import { boardPath } from './board-frame.ts';

/** What is shown of an idea wherever it stands. */
export interface PresentedIdea {
  title: string;
  status: { label: string; category: StatusCategory };
  tags: { name: string; color: string }[];
  score: number;
  upCount: number;
  downCount: number;
  commentCount: number;
  authorName: string;
  createdAt: PresentedTime;
}

export interface PresentedTime {
  /** For programs: RFC 3339 in UTC. */
  iso: string;
  /** For people. */
  text: string;
}

/** Names and titles become one line without characters that steer: with those, one could pass for another. */
export function presentIdea(idea: IdeaView): PresentedIdea {
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

/** The day alone: a page is kept by caches all over the world, and says the same to everybody. */
export function presentTime(time: string): PresentedTime {
  const date = new Date(time);
  return { iso: date.toISOString(), text: dates.format(date) };
}

export function ideaPath(slug: string, id: number): string {
  return `${boardPath(slug)}/ideas/${id}`;
}
