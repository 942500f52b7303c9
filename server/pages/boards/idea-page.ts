import { z } from 'zod';
import { PathId } from '../../../contract/identifiers.ts';
import { defaultPerPage } from '../../../contract/pagination.ts';
import { word } from '../../../contract/text.ts';
import { readBoard } from '../../domain/boards/read-board.ts';
import { mayChangeComment } from '../../domain/comments/change-comment.ts';
import { type CommentView, commentSort, listComments, readReplies } from '../../domain/comments/comments.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { readMentions } from '../../domain/mentions/record-mentions.ts';
import { isFollowing } from '../../domain/notifications/followers.ts';
import type { Actor, ReadOperation } from '../../domain/operation.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import { readPeople } from '../../domain/users/read-people.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { fieldOf, type Problem } from '../shell/form.ts';
import { readQuery } from '../shell/query.ts';
import { type BoardVisit, boardOf, ideaPath, pathOn } from './opened-board.ts';
import { moderationNotices, presentChanges } from './present-changes.ts';
import { type NamesIn, presentComment } from './present-comment.ts';
import { frameOfBoard, presentIdea, presentName, presentVote } from './present-idea.ts';
import { presentTags } from './tag-filter.ts';

const IdeaQuery = z.object({ cursor: word(500).optional() });

const notices = {
  submitted: 'Your idea is on the board.',
  voted: 'Your vote counts.',
  commented: 'Your comment is on the page.',
  comment_edited: 'Your comment has the new text.',
  comment_deleted: 'The comment is deleted.',
  followed: 'You follow this idea. You get a notice when it changes.',
  unfollowed: 'You no longer follow this idea.',
  ...moderationNotices,
};

/** Shows an idea of a board with a page of its comments, the oldest first. Members can vote, comment and follow it. */
export async function showIdea(visit: BoardVisit, problem?: Problem) {
  const { request, server } = visit;
  const { read, slug, member } = boardOf(request);
  const ideaId = PathId.safeParse(fieldOf(request.params, 'id'));
  if (!ideaId.success) throw new DomainError('not_found');
  const { cursor } = readQuery(IdeaQuery, visit.isSent ? {} : request.query);
  const place = placeOf({ cursor }, commentSort, defaultPerPage);
  const [board, idea, comments, replies] = await Promise.all([
    readBoard(read),
    readIdea(read, ideaId.data),
    listComments(read, ideaId.data, place),
    readReplies(read, [ideaId.data]),
  ]);
  if (!idea) throw new DomainError('not_found');
  const reply = replies.get(idea.id);
  const namesIn = await readMentions(read, idea, reply ? [...comments.rows, reply] : comments.rows);
  const target = idea.merged_into_id === null ? undefined : await readIdea(read, idea.merged_into_id);
  const path = pathOn(request, `/ideas/${idea.id}`);
  const frame = frameOfBoard(visit, board, {
    page: shortLine(idea.title, 200),
    description: idea.body,
    isArticle: true,
    canonicalPath: cursor === undefined ? ideaPath(slug, idea.id) : undefined,
  });
  const isOpen = idea.moderation_state === 'published' && idea.merged_into_id === null && !board.is_frozen;
  const data = {
    idea: { ...presentIdea(idea), tags: presentTags(request, idea.tags), body: linkedText(idea.body, namesIn(null)) },
    board: { label: shortLine(board.name, 100), href: pathOn(request) },
    isPending: idea.moderation_state === 'pending',
    isMerged: idea.merged_into_id !== null,
    // Undefined if the reader may not see the target of the merge.
    mergedInto: target && { label: shortLine(target.title, 200), href: pathOn(request, `/ideas/${target.id}`) },
    reply: reply && presentComment(reply, namesIn),
    ...presentComments(
      visit,
      comments,
      { isOpen, namesIn },
      cursor => `${pathOn(request, `/ideas/${idea.id}`, { cursor })}#comments`,
    ),
    first: cursor === undefined ? undefined : { label: 'Back to the first comments', href: path },
    vote: presentVote(visit, board, idea),
    // Moderators change the idea with the forms of the admin area, which lead back to this page.
    moderator: member?.isModerator && {
      action: (form: string) => pathInAdmin(visit, `/admin/ideas/${idea.id}/${form}`),
      adminPath: visit.path(`/admin/ideas/${idea.id}`),
      isFrozen: board.is_frozen,
      changes: presentChanges(visit, idea, board),
    },
    member: member && {
      commentPath: isOpen ? pathOn(request, `/ideas/${idea.id}/comments`) : undefined,
      comment: visit.field('body'),
      mentionable: isOpen ? await findMentionable(member, read, [idea, ...comments.rows]) : [],
      isCommentRefused: problem !== undefined && request.routeOptions.url?.endsWith('/comments'),
      followPath: pathOn(request, `/ideas/${idea.id}/follow`),
      isFollowing: await isFollowing(server.database, member.accountId, { ideaId: idea.id, userId: member.userId }),
    },
  };
  return visit.page('idea', frame, data, { notices, problem });
}

function presentComments(
  visit: BoardVisit,
  { rows, nextCursor }: Page<CommentView>,
  { isOpen, namesIn }: { isOpen: boolean; namesIn: NamesIn },
  pathAt: (cursor: string) => string,
) {
  return {
    comments: rows.map(comment => ({ ...presentComment(comment, namesIn), links: linksOf(visit, comment, isOpen) })),
    next: nextCursor === null ? undefined : { label: 'More comments', href: pathAt(nextCursor) },
  };
}

function pathInAdmin(visit: BoardVisit, path: string): string {
  return visit.path(path, { on: boardOf(visit.request).slug });
}

/**
 * Returns the names that the comment form suggests: the members who wrote on this page, except the reader. The reader
 * sees their names anyway, so the suggestions reveal no other members.
 */
async function findMentionable(member: Actor, read: ReadOperation, texts: readonly { author_id: number }[]) {
  const authors = new Set(texts.map(({ author_id }) => author_id));
  authors.delete(member.userId);
  const people = await readPeople(read, member.accountId, [...authors]);
  const names = [...people.values()].filter(({ role, is_blocked }) => role !== null && !is_blocked);
  return [...new Set(names.map(({ name }) => presentName(name)))];
}

/** Returns the links to the pages on which the reader can edit or delete a comment. */
function linksOf({ request, server }: BoardVisit, comment: CommentView, isOpen: boolean) {
  const { member } = boardOf(request);
  if (!member) return [];
  const may = mayChangeComment({ actor: member, now: server.clock.now() }, comment);
  const pathTo = (verb: string) => pathOn(request, `/ideas/${comment.idea_id}/comments/${comment.id}/${verb}`);
  return [
    ...(may.edit && isOpen ? [{ label: 'Edit', href: pathTo('edit') }] : []),
    ...(may.delete ? [{ label: 'Delete', href: pathTo('delete') }] : []),
  ];
}
