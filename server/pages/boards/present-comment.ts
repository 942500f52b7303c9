import type { CommentView } from '../../domain/comments/comments.ts';
import type { readMentions } from '../../domain/mentions/record-mentions.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shownName } from '../shell/show.ts';
import { presentTime } from './present-idea.ts';

/** The data that all comments of a page need. The server reads this data once for each page. */
export interface ShownBeside {
  /** Returns the member names that the body of the idea or a comment mentions. */
  namesIn: Awaited<ReturnType<typeof readMentions>>;
  /** The paths of the authors' pictures, by the id of the author. */
  pictures: Map<number, string>;
}

export function presentComment(comment: CommentView, { namesIn, pictures }: ShownBeside) {
  return {
    id: comment.id,
    body: linkedText(comment.body, namesIn(comment.id)),
    authorName: shownName(comment.author_name),
    picture: pictures.get(comment.author_id),
    createdAt: presentTime(comment.created_at),
    editedAt: comment.edited_at === null ? undefined : presentTime(comment.edited_at),
    isOfficial: comment.is_official,
  };
}
