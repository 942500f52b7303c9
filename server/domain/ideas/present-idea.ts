import type { Idea, VoteValue } from '../../../contract/idea.ts';
import { statusOfCategory } from '../../../contract/status.ts';
import { type Config, ownIdeaUrl } from '../../config.ts';
import { presentTime } from '../time.ts';
import type { IdeaView } from './read-idea.ts';

export const voteOfNumber = { '-1': 'down', 0: 'none', 1: 'up' } as const satisfies Record<string, VoteValue>;

/**
 * A function that takes the id of an idea and returns the URL of the idea's page. With the id of a comment, the page
 * shows this comment, if it is a page of this server.
 */
export type LinkToIdea = (ideaId: number, commentId?: number | null) => string;

export function presentIdea(idea: IdeaView & { body_truncated?: boolean }, linkTo: LinkToIdea): Idea {
  return {
    id: idea.id,
    title: idea.title,
    body: idea.body,
    body_truncated: idea.body_truncated ?? false,
    status: statusOfCategory[idea.status_category],
    status_key: idea.status_key,
    status_category: idea.status_category,
    status_label: idea.status_label,
    moderation_state: idea.moderation_state,
    score: idea.score,
    up_count: idea.up_count,
    down_count: idea.down_count,
    comment_count: idea.comment_count,
    my_vote: voteOfNumber[idea.my_vote ?? 0],
    tags: idea.tags,
    author: { id: idea.author_id, name: idea.author_name },
    merged_into_id: idea.merged_into_id,
    created_at: presentTime(idea.created_at),
    updated_at: presentTime(idea.updated_at),
    url: linkTo(idea.id),
  };
}

/** The server builds the URL of an idea's page from these settings. */
export type LinkSettings = Pick<Config, 'BASE_URL' | 'IDEA_URL'>;

/** Builds the function that returns the URL of each idea on a board. */
export function linkToIdeas(config: LinkSettings, boardSlug: string): LinkToIdea {
  const baseUrl = config.BASE_URL.replace(/\/+$/, '');
  const board = encodeURIComponent(boardSlug);
  const template = config.IDEA_URL.replace(/\{(base_url|board)\}/g, (_, name) => (name === 'board' ? board : baseUrl));
  return (ideaId, commentId) => {
    const url = template.replaceAll('{id}', String(ideaId));
    // The pages of another website do not know the parameter.
    return commentId && config.IDEA_URL === ownIdeaUrl ? atComment(url, commentId) : url;
  };
}

/** Adds a comment to the URL or path of an idea's page. The page then shows this comment, with the comment as its fragment. */
export function atComment(url: string, commentId: number): string {
  return `${url}${url.includes('?') ? '&' : '?'}comment=${commentId}#comment-${commentId}`;
}
