import type { ShownComment } from '../../domain/comments/comments.ts';
import type { readMentions } from '../../domain/mentions/record-mentions.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shownName } from '../shell/show.ts';
import { presentTime } from './present-idea.ts';

/** Returns the member names that the body of the idea or a comment mentions. */
export type NamesIn = Awaited<ReturnType<typeof readMentions>>;

export function presentComment(comment: ShownComment, namesIn: NamesIn) {
  return {
    id: comment.id,
    body: linkedText(comment.body, namesIn(comment.id)),
    authorName: shownName(comment.author_name),
    picture: comment.author_picture,
    createdAt: presentTime(comment.created_at),
    editedAt: comment.edited_at === null ? undefined : presentTime(comment.edited_at),
    isOfficial: comment.is_official,
  };
}
