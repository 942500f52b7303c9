import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { type PresentedIdea, presentIdea } from '../../pages/public-board/present-idea.ts';
import { shortLine } from '../../text/plain-text.ts';

/** So many fit a page that is quick on a phone. The list's statements know this number. */
export const ideasPerPage = 20;

/** How much of an idea's body stands in a list. */
const excerptLength = 220;

export interface ListedIdea extends PresentedIdea {
  excerpt: string;
  href: string;
}

export function listedIdea(idea: IdeaView, href: string): ListedIdea {
  return { ...presentIdea(idea), excerpt: shortLine(idea.body, excerptLength, ''), href };
}

/** The number that a search names instead of words, as #42: webhooks, chats and the audit log name ideas so. */
export function ideaNumberIn(q: string | undefined): number | undefined {
  const [, number] = /^#([1-9]\d{0,14})$/.exec(q ?? '') ?? [];
  return number === undefined ? undefined : Number(number);
}
