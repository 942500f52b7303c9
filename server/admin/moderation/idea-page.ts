import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { word } from '../../../contract/text.ts';
import { type BoardView, readBoard } from '../../domain/boards/read-board.ts';
import { type CommentView, commentSort, listComments } from '../../domain/comments/comments.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type IdeaView, readIdea } from '../../domain/ideas/read-idea.ts';
import { listMergedIdeas, type MergedIdea, mergedSort } from '../../domain/merging/list-merged-ideas.ts';
import { isFollowing } from '../../domain/notifications/follow-idea.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { type PersonView, readPeople } from '../../domain/users/read-people.ts';
import { type PresentedIdea, presentIdea } from '../../pages/public-board/present-idea.ts';
import { definePage, type Link } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import type { Html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { pathIn } from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';
import type { Moderation } from './act-on-board.ts';
import { presentPerson, type ShownPerson } from './present-person.ts';
import { ideaPath, wayToIdea } from './way-back.ts';

const IdeaQuery = z.object({ cursor: word(500).optional(), merged: word(500).optional() });

interface IdeaData {
  idea: PresentedIdea & { id: number; body: string; submitted: ShownTime };
  author: ShownPerson;
  board: Link;
  isPending: boolean;
  isFrozen: boolean;
  mergedInto: Link | undefined;
  /** Undefined where nothing of the idea can be changed: it is merged, awaits approval, or its board is frozen. */
  changes: ShownChanges | undefined;
  isFollowing: boolean;
  /** Where its forms are sent. */
  paths: Record<'approve' | 'reject' | 'unmerge' | 'follow', string>;
  comments: ShownPage<{ id: number; body: string; author: string; person: ShownPerson; time: ShownTime }>;
  merged: ShownPage<{ link: Link; score: number; time: ShownTime; unmergePath: string }>;
  formToken: string;
  notice: string | undefined;
  problem: string | undefined;
}

interface ShownChanges {
  statusPath: string;
  statuses: { key: string; label: string; isChosen: boolean }[];
  tagPath: string;
  tags: { name: string; color: string; removePath: string }[];
  /** Those that it has not. */
  otherTags: { id: number; name: string }[];
  mergePath: string;
}

interface ShownPage<Row> {
  rows: Row[];
  first: Link | undefined;
  next: Link | undefined;
}

const ideaPage = definePage<IdeaData>('admin/moderation/idea');

const commentsPerPage = 20;
const mergedPerPage = 10;

/** An idea with all that a moderator does to it, and what was done above it. */
export async function showIdea(
  request: FastifyRequest,
  account: AccountOfUser,
  op: Moderation,
  ideaId: number,
  { notice, problem }: { notice?: string | undefined; problem?: string | undefined } = {},
): Promise<Html> {
  const query = readQuery(IdeaQuery, request.query);
  const idea = await readIdea(op, ideaId);
  if (!idea) throw new DomainError('not_found');
  const board = await readBoard(op);
  const comments = await listComments(op, ideaId, placeOf(query, commentSort, commentsPerPage));
  const merged = await listMergedIdeas(op, ideaId, placeOf({ cursor: query.merged }, mergedSort, mergedPerPage));
  const target = idea.merged_into_id === null ? undefined : await readIdea(op, idea.merged_into_id);
  const authors = [idea.author_id, ...comments.rows.map(comment => comment.author_id)];
  const people = await readPeople(op, account.id, authors);
  const path = (suffix = '', parameters: Record<string, string> = {}) =>
    pathIn(request, account, `${ideaPath(ideaId)}${suffix}`, parameters);
  const isPending = idea.moderation_state === 'pending';
  const isFixed = isPending || idea.merged_into_id !== null || board.is_frozen;
  const frame = frameOf(request, account, shortLine(idea.title, 200));
  return ideaPage(frame, {
    idea: { ...presentIdea(idea), id: idea.id, body: idea.body, submitted: showTime(new Date(idea.created_at)) },
    author: presentPerson(request, account, people.get(idea.author_id), wayToIdea(ideaId)),
    board: { label: shownName(board.name), href: pathIn(request, account, '/admin/ideas', { board: board.slug }) },
    isPending,
    isFrozen: board.is_frozen,
    mergedInto: target && linkTo(request, account, target),
    changes: isFixed ? undefined : presentChanges(idea, board, path),
    isFollowing: await isFollowing(op, op.actor.accountId, { ideaId, userId: op.actor.userId }),
    paths: { approve: path('/approve'), reject: path('/reject'), unmerge: path('/unmerge'), follow: path('/follow') },
    comments: presentComments(request, account, comments, people, { ideaId, isFirst: query.cursor === undefined }),
    merged: presentMerged(request, account, merged, { ideaId, isFirst: query.merged === undefined }),
    formToken: formTokenOf(request),
    notice,
    problem,
  });
}

function presentChanges(idea: IdeaView, board: BoardView, path: (suffix: string) => string): ShownChanges {
  const assigned = new Set(idea.tags.map(({ id }) => id));
  return {
    statusPath: path('/status'),
    statuses: board.statuses.map(({ key, label, is_hidden }) => ({
      key,
      label: `${shortLine(label, 60)}${is_hidden ? ' (hidden)' : ''}`,
      isChosen: key === idea.status_key,
    })),
    tagPath: path('/tags'),
    tags: idea.tags.map(({ id, name, color }) => ({
      name: shortLine(name, 40),
      color,
      removePath: path(`/tags/${id}/remove`),
    })),
    otherTags: board.tags
      .filter(({ id }) => !assigned.has(id))
      .map(({ id, name }) => ({ id, name: shortLine(name, 40) })),
    mergePath: path('/merge'),
  };
}

function presentComments(
  request: FastifyRequest,
  account: AccountOfUser,
  { rows, nextCursor }: Page<CommentView>,
  people: Map<number, PersonView>,
  { ideaId, isFirst }: { ideaId: number; isFirst: boolean },
): IdeaData['comments'] {
  const path = (parameters: Record<string, string>) =>
    `${pathIn(request, account, ideaPath(ideaId), parameters)}#comments`;
  return {
    rows: rows.map(({ id, body, author_id, author_name, created_at }) => ({
      id,
      body,
      author: shownName(author_name),
      person: presentPerson(request, account, people.get(author_id), wayToIdea(ideaId)),
      time: showTime(new Date(created_at)),
    })),
    first: isFirst ? undefined : { label: 'Back to the first comments', href: path({}) },
    next: nextCursor === null ? undefined : { label: 'More comments', href: path({ cursor: nextCursor }) },
  };
}

function presentMerged(
  request: FastifyRequest,
  account: AccountOfUser,
  { rows, nextCursor }: Page<MergedIdea>,
  { ideaId, isFirst }: { ideaId: number; isFirst: boolean },
): IdeaData['merged'] {
  const path = (parameters: Record<string, string>) =>
    `${pathIn(request, account, ideaPath(ideaId), parameters)}#merged`;
  return {
    rows: rows.map(one => ({
      link: linkTo(request, account, one),
      score: one.score,
      time: showTime(new Date(one.merged_at)),
      unmergePath: pathIn(request, account, `${ideaPath(one.id)}/unmerge`, wayToIdea(ideaId)),
    })),
    first: isFirst ? undefined : { label: 'Back to the last merged', href: path({}) },
    next: nextCursor === null ? undefined : { label: 'More merged ideas', href: path({ merged: nextCursor }) },
  };
}

function linkTo(request: FastifyRequest, account: AccountOfUser, { id, title }: { id: number; title: string }): Link {
  return { label: shortLine(title, 200), href: pathIn(request, account, ideaPath(id)) };
}
