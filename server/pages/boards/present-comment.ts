import type { CommentView } from '../../domain/comments/comments.ts';
import type { readMentions } from '../../domain/mentions/record-mentions.ts';
import { linkedText } from '../../text/linked-text.ts';
import { presentName, presentTime } from './present-idea.ts';

/** Returns the names that a text of an idea mentions. */
export type NamesIn = Awaited<ReturnType<typeof readMentions>>;

export function presentComment(comment: CommentView, namesIn: NamesIn) {
  return {
    id: comment.id,
    body: linkedText(comment.body, namesIn(comment.id)),
    authorName: presentName(comment.author_name),
    createdAt: presentTime(comment.created_at),
    editedAt: comment.edited_at === null ? undefined : presentTime(comment.edited_at),
    isOfficial: comment.is_official,
  };
}
