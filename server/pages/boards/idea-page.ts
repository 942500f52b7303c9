import { z } from 'zod';
import { PathId } from '../../../contract/identifiers.ts';
import { defaultPerPage } from '../../../contract/pagination.ts';
import { word } from '../../../contract/text.ts';
import type { BoardView } from '../../domain/boards/read-board.ts';
import { mayChange } from '../../domain/change-rights.ts';
import { commentSort, findPlaceOf, readDiscussion, type ShownComment } from '../../domain/comments/comments.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type IdeaView, readIdea, readShownIdea } from '../../domain/ideas/read-idea.ts';
import type { ShownAuthor } from '../../domain/members/shown-author.ts';
import { readMentions } from '../../domain/mentions/record-mentions.ts';
import type { Actor } from '../../domain/operation.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { reasonOf } from '../shell/act.ts';
import { fieldOf, type Problem } from '../shell/form.ts';
import { readQuery } from '../shell/query.ts';
import { shownName } from '../shell/show.ts';
import type { Notices } from '../shell/visit.ts';
import { type BoardVisit, boardOf, ideaPath, pathOn } from './opened-board.ts';
import { moderationNotices, presentChanges } from './present-changes.ts';
import { describeClosed } from './present-closed.ts';
import { type NamesIn, presentComment } from './present-comment.ts';
import { frameOfBoard, presentIdea, votingOn } from './present-idea.ts';
import { presentJoin } from './present-join.ts';
import { tagPathsOf } from './tag-filter.ts';

/** `comment` is the id of a comment that the page shows. If the query has a cursor, `comment` has no effect. */
const IdeaQuery = z.object({ cursor: word(500).optional(), comment: PathId.optional() });

const notices = {
  submitted: 'boards.notices.submitted',
  voted: 'boards.notices.voted',
  commented: 'boards.notices.commented',
  confirm: 'boards.notices.confirm',
  comment_edited: 'boards.notices.comment_edited',
  comment_deleted: 'boards.notices.comment_deleted',
  idea_edited: 'boards.notices.idea_edited',
  followed: 'boards.notices.followed',
  unfollowed: 'boards.notices.unfollowed',
  ...moderationNotices,
  merged: 'moderation.notices.merged',
} satisfies Notices;

/**
 * Shows an idea of a board with one page of its comments. The oldest comments come first. Members can follow the idea,
 * vote on it and comment on it.
 */
export async function showIdea(visit: BoardVisit, problem?: Problem) {
  const { request } = visit;
  const { board, read, slug, member } = boardOf(request);
  const ideaId = PathId.safeParse(fieldOf(request.params, 'id'));
  if (!ideaId.success) throw new DomainError('not_found');
  // The path of the comment form has the query of its page, so that a refused form keeps the same comments.
  const { cursor, comment } = readQuery(IdeaQuery, request.query);
  const findPlace = async () =>
    cursor === undefined && comment !== undefined
      ? findPlaceOf(read, { ideaId: ideaId.data, commentId: comment }, defaultPerPage)
      : placeOf({ cursor }, commentSort, defaultPerPage);
  const [idea, { comments, reply }] = await Promise.all([
    readShownIdea(read, ideaId.data),
    findPlace().then(place => readDiscussion(read, ideaId.data, place)),
  ]);
  if (!idea) throw new DomainError('not_found');
  const isFirstPage = comments.place.cursor === undefined;
  const shown = reply ? [...comments.rows, reply] : comments.rows;
  const target = idea.merged_into_id === null ? undefined : await readIdea(read, idea.merged_into_id);
  const isOpen = idea.moderation_state === 'published' && idea.merged_into_id === null && !board.is_frozen;
  const status = board.statuses.find(({ key }) => key === idea.status_key);
  const acceptsComments = isOpen && status?.allow_comments;
  const noForm = isOpen ? findRefusal(member, comments, acceptsComments) : undefined;
  // If the form is refused, for example because the board was frozen while the person typed, the form still shows the
  // comment.
  const hasForm = (isOpen && !noForm) || visit.field('body') !== '';
  const isCommentRefused = problem !== undefined && request.routeOptions.url?.endsWith('/comments');
  const namesIn = await readMentions(read, idea, shown);
  const path = pathOn(request, `/ideas/${idea.id}`);
  const frame = frameOfBoard(visit, board, {
    page: shortLine(idea.title, 200),
    description: idea.body,
    isArticle: true,
    canonicalPath: isFirstPage ? ideaPath(slug, idea.id) : undefined,
  });
  const data = {
    idea: {
      ...presentIdea(idea, tagPathsOf(request)),
      body: linkedText(idea.body, namesIn(null)),
      picture: idea.author_picture,
    },
    board: { label: shortLine(board.name, 100), href: pathOn(request) },
    closed: describeNoVotes(visit, board, { isOpen, acceptsVotes: status?.allow_votes }),
    isPending: idea.moderation_state === 'pending',
    isMerged: idea.merged_into_id !== null,
    // The idea that this idea was merged into. Undefined if the idea is not merged, or if the reader may not see the
    // other idea.
    mergedInto: target && { label: shortLine(target.title, 200), href: pathOn(request, `/ideas/${target.id}`) },
    reply: reply && presentComment(reply, namesIn),
    ...presentComments(
      visit,
      comments,
      { isOpen, acceptsComments, namesIn },
      cursor => `${pathOn(request, `/ideas/${idea.id}`, { cursor })}#comments`,
    ),
    first: isFirstPage ? undefined : { label: t('boards.idea.first_comments'), href: path },
    ...votingOn(visit, board)(idea),
    formAt: member && hasForm && isCommentRefused ? 'comment-form' : undefined,
    // Moderators change the idea with the forms of the admin area. After a change, the browser returns to the idea's
    // page on the board.
    moderator: member?.isModerator && {
      action: (form: string) => pathInAdmin(visit, `/admin/ideas/${idea.id}/${form}`),
      adminPath: visit.path(`/admin/ideas/${idea.id}`),
      votesPath: visit.path(`/admin/ideas/${idea.id}/votes`),
      notesPath: `${visit.path(`/admin/ideas/${idea.id}`)}#notes`,
      isFrozen: board.is_frozen,
      changes: presentChanges(visit, idea, board),
    },
    noForm: noForm && reasonOf(noForm),
    join: await presentJoin(visit, ideaPath(slug, idea.id)),
    member: member && {
      commentPath: hasForm ? pathOn(request, `/ideas/${idea.id}/comments`, placeIn({ cursor, comment })) : undefined,
      comment: visit.field('body'),
      mentionable: isOpen ? findMentionable(member, [idea, ...shown]) : [],
      isCommentRefused,
      links: linksOfIdea(visit, board, idea),
      followPath: pathOn(request, `/ideas/${idea.id}/follow`),
      isFollowing: idea.is_followed,
    },
  };
  return visit.page('idea', frame, data, { notices, problem });
}

/** Returns the query parameters of the shown page of comments. */
function placeIn({ cursor, comment }: z.infer<typeof IdeaQuery>): Record<string, string> {
  if (cursor !== undefined) return { cursor };
  return comment === undefined ? {} : { comment: String(comment) };
}

/**
 * Returns the sentence that says why the idea accepts no votes. Returns undefined if it accepts votes, and for a pending
 * or merged idea, whose page has its own notice.
 */
function describeNoVotes(
  { server }: BoardVisit,
  board: BoardView,
  { isOpen, acceptsVotes }: { isOpen: boolean; acceptsVotes: boolean | undefined },
) {
  if (!isOpen && !board.is_frozen) return undefined;
  if (isOpen && !acceptsVotes) return `${reasonOf('status_votes_closed')}.`;
  return describeClosed(board, 'voting', server.clock.now());
}

/**
 * Returns the reason why the server would refuse every comment, or every comment by the reader. Only the last page of
 * comments shows whether the newest comment is by the reader.
 */
function findRefusal(
  reader: Actor | undefined,
  { rows, nextCursor }: Page<ShownComment>,
  acceptsComments: boolean | undefined,
) {
  if (!acceptsComments) return 'status_comments_closed';
  const isOwnLast = nextCursor === null && reader !== undefined && rows.at(-1)?.author_id === reader.userId;
  return isOwnLast ? 'consecutive_comment' : undefined;
}

function presentComments(
  visit: BoardVisit,
  { rows, nextCursor }: Page<ShownComment>,
  { namesIn, ...state }: { isOpen: boolean; acceptsComments: boolean | undefined; namesIn: NamesIn },
  pathAt: (cursor: string) => string,
) {
  return {
    comments: rows.map(comment => ({ ...presentComment(comment, namesIn), links: linksOf(visit, comment, state) })),
    next: nextCursor === null ? undefined : { label: t('boards.idea.more_comments'), href: pathAt(nextCursor) },
  };
}

function pathInAdmin(visit: BoardVisit, path: string): string {
  return visit.path(path, { on: boardOf(visit.request).slug });
}

/**
 * Returns the names that the comment form suggests: members who wrote on this page, except the reader. The reader can
 * see these names on the page, so the suggestions reveal no other members.
 */
function findMentionable(reader: Actor, authors: readonly ShownAuthor[]) {
  const others = authors.filter(({ author_id, is_mentionable }) => author_id !== reader.userId && is_mentionable);
  return [...new Set(others.map(({ author_name }) => shownName(author_name)))];
}

/** Returns the links to the pages where the reader can edit or delete the idea. */
function linksOfIdea({ request, server }: BoardVisit, board: BoardView, idea: IdeaView) {
  const { member } = boardOf(request);
  if (!member || idea.moderation_state !== 'published' || idea.merged_into_id !== null) return [];
  const by = { actor: member, now: server.clock.now() };
  const mayEdit = !board.is_frozen && mayChange(by, { ...idea, needs_approval: board.pre_moderation });
  const pathTo = (verb: string) => pathOn(request, `/ideas/${idea.id}/${verb}`);
  return [
    ...(mayEdit ? [{ label: t('boards.edit_idea.link'), href: pathTo('edit') }] : []),
    ...(mayChange(by, idea) ? [{ label: t('boards.delete_idea.link'), href: pathTo('delete') }] : []),
  ];
}

/** Returns the links to the pages where the reader can edit or delete a comment. */
function linksOf(
  { request, server }: BoardVisit,
  comment: ShownComment,
  { isOpen, acceptsComments }: { isOpen: boolean; acceptsComments: boolean | undefined },
) {
  const { member } = boardOf(request);
  if (!member) return [];
  const author = shownName(comment.author_name);
  if (!mayChange({ actor: member, now: server.clock.now() }, comment)) return [];
  // A status without comments still has official replies, and their authors can edit them.
  const mayEdit = isOpen && (acceptsComments || comment.is_official);
  const pathTo = (verb: string) => pathOn(request, `/ideas/${comment.idea_id}/comments/${comment.id}/${verb}`);
  return [
    ...(mayEdit ? [{ label: t('boards.comment.edit_html', { author }), href: pathTo('edit') }] : []),
    { label: t('boards.comment.delete_html', { author }), href: pathTo('delete') },
  ];
}
