import { readBoard } from '../../domain/boards/read-board.ts';
import { commentSort, findPlaceOf, readDiscussion, type ShownComment } from '../../domain/comments/comments.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readIdea, readShownIdea } from '../../domain/ideas/read-idea.ts';
import { readMentions } from '../../domain/mentions/record-mentions.ts';
import { listMergedIdeas, type MergedIdea, mergedSort } from '../../domain/merging/list-merged-ideas.ts';
import { type PersonView, readPeople } from '../../domain/users/read-people.ts';
import { findSharedNetworks, type SharedNetwork } from '../../domain/votes/vote-networks.ts';
import { ideaPath as ideaPathOnBoard } from '../../pages/boards/opened-board.ts';
import { presentChanges } from '../../pages/boards/present-changes.ts';
import { presentComment as presentCommentOfBoard } from '../../pages/boards/present-comment.ts';
import { presentIdea } from '../../pages/boards/present-idea.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { shownName, showTime } from '../../pages/shell/show.ts';
import type { Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { actOnIdea } from './act-on-board.ts';
import { presentNotes } from './present-notes.ts';
import { presentSimilar } from './similar-ideas.ts';
import { ideaPath, linkToBoard, notices, presentPerson, wayOf, wayToIdea } from './way-back.ts';

const commentsPerPage = 20;
const mergedPerPage = 10;

export async function showIdea(visit: Visit, problem?: Problem) {
  const ideaId = visit.id();
  const { actor, idea, data } = await readPage(visit, ideaId);
  const similar = data.isPending ? await presentSimilar(visit, actor, idea, id => visit.path(ideaPath(id))) : [];
  return visit.page('moderation/idea', shortLine(idea.title, 200), { ...data, similar }, { notices, problem });
}

function readPage(visit: Visit, ideaId: number) {
  return actOnIdea(visit, ideaId, async op => {
    const idea = await readShownIdea(op, ideaId);
    if (!idea) throw new DomainError('not_found');
    const board = await readBoard(op);
    const commentId = visit.number('comment');
    const place =
      commentId !== undefined && visit.parameter('cursor') === ''
        ? await findPlaceOf(op, { ideaId, commentId }, commentsPerPage)
        : visit.place(commentSort, commentsPerPage);
    const { comments, reply } = await readDiscussion(op, ideaId, place);
    const namesIn = await readMentions(op, idea, reply ? [...comments.rows, reply] : comments.rows);
    const merged = await listMergedIdeas(op, ideaId, visit.place(mergedSort, mergedPerPage, 'merged'));
    const target = idea.merged_into_id === null ? undefined : await readIdea(op, idea.merged_into_id);
    const networks = await findSharedNetworks(op, ideaId);
    const authors = [idea.author_id, ...comments.rows.map(comment => comment.author_id)];
    const people = await readPeople(op, visit.account.id, authors);
    const isPending = idea.moderation_state === 'pending';
    const data = {
      idea: {
        ...presentIdea(idea),
        id: idea.id,
        body: linkedText(idea.body, namesIn(null)),
        submitted: showTime(new Date(idea.created_at)),
      },
      author: presentPerson(visit, people.get(idea.author_id), wayToIdea(ideaId)),
      board: { label: shownName(board.name), href: visit.path('/admin/ideas', { board: board.slug }) },
      isPending,
      isFrozen: board.is_frozen,
      // If the server refused a form of the board's page, this page shows the form again. The next time, the browser
      // returns to the board.
      back: linkToBoard(visit.request),
      action: (form: string) => visit.path(`${ideaPath(ideaId)}/${form}`, wayOf(visit)),
      mergedInto: target && linkTo(visit, target),
      networks: networks.map(presentNetwork),
      changes: presentChanges(visit, idea, board),
      isFollowing: idea.is_followed,
      reply: reply && presentCommentOfBoard(reply, namesIn),
      comments: {
        rows: comments.rows.map(comment => ({
          ...presentComment(visit, board.slug, comment, people),
          body: linkedText(comment.body, namesIn(comment.id)),
        })),
        ...visit.pageLinks(ideaPath(ideaId), 'cursor', comments.nextCursor, { section: '#comments' }),
        // The page of a comment has no cursor in its URL.
        first: place.cursor && { label: t('shell.first_page'), href: `${visit.path(ideaPath(ideaId))}#comments` },
      },
      notes: await presentNotes(visit, op, ideaId),
      merged: {
        rows: merged.rows.map(one => presentMerged(visit, ideaId, one)),
        ...visit.pageLinks(ideaPath(ideaId), 'merged', merged.nextCursor, { section: '#merged' }),
      },
    };
    return { actor: op.actor, idea, data };
  });
}

function presentComment(visit: Visit, slug: string, comment: ShownComment, people: Map<number, PersonView>) {
  const ideaId = comment.idea_id;
  return {
    id: comment.id,
    isOfficial: comment.is_official,
    author: shownName(comment.author_name),
    person: presentPerson(visit, people.get(comment.author_id), wayToIdea(ideaId)),
    time: showTime(new Date(comment.created_at)),
    // The form that deletes a comment posts to a path of the board, outside the admin area. After the deletion, the
    // browser therefore returns to the idea's page on the board.
    deletePath: visit.path(`${ideaPathOnBoard(slug, ideaId)}/comments/${comment.id}/delete`),
  };
}

function presentNetwork({ count, names }: SharedNetwork) {
  const more = count - names.length;
  return {
    heading: t('moderation.networks.people', { count }),
    names: names.map(shownName),
    more: more > 0 && t('moderation.networks.more', { count: more }),
  };
}

function presentMerged(visit: Visit, ideaId: number, merged: MergedIdea) {
  return {
    link: linkTo(visit, merged),
    score: merged.score,
    time: showTime(new Date(merged.merged_at)),
    unmergePath: visit.path(`${ideaPath(merged.id)}/unmerge`, wayToIdea(ideaId)),
  };
}

export function linkTo(visit: Visit, { id, title }: { id: number; title: string }) {
  return { label: shortLine(title, 200), href: visit.path(ideaPath(id)) };
}
