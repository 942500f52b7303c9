import { z } from 'zod';
import { defaultPerPage } from '../../../contract/pagination.ts';
import { word } from '../../../contract/text.ts';
import type { Config } from '../../config.ts';
import { type BoardView, readBoard } from '../../domain/boards/read-board.ts';
import { type CommentView, commentSort, listComments } from '../../domain/comments/comments.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type IdeaView, readIdea } from '../../domain/ideas/read-idea.ts';
import type { ReadOperation } from '../../domain/operation.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import type { Html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import { definePage, type Link } from '../shell/page.ts';
import { readQuery } from '../shell/query.ts';
import {
  boardFrame,
  boardPath,
  ideaPath,
  presentIdea,
  presentName,
  presentTime,
  type VisitorPart,
} from './present-idea.ts';

const IdeaQuery = z.object({ cursor: word(500).optional() });

const ideaPage = definePage<object>('pages/public-board/idea');

/** Renders an idea of a public board with a page of its comments, the oldest first. */
export async function showIdea(
  op: ReadOperation,
  config: Pick<Config, 'BASE_URL'>,
  ideaId: number,
  given: unknown,
  visitor: VisitorPart,
): Promise<Html> {
  const { cursor } = readQuery(IdeaQuery, given);
  const place = placeOf({ cursor }, commentSort, defaultPerPage);
  const [board, idea, comments] = await Promise.all([
    readBoard(op),
    readIdea(op, ideaId),
    listComments(op, ideaId, place),
  ]);
  if (!idea) throw new DomainError('not_found');
  const target = idea.merged_into_id === null ? undefined : await readIdea(op, idea.merged_into_id);
  const path = ideaPath(board.slug, idea.id);
  const frame = boardFrame(board, {
    config,
    visitor,
    isBoard: false,
    title: `${shortLine(idea.title, 200)} · ${shortLine(board.name, 100)}`,
    ...(cursor === undefined ? { canonicalPath: path } : {}),
  });
  return ideaPage(frame, {
    idea: { ...presentIdea(idea), body: idea.body },
    board: { label: shortLine(board.name, 100), href: boardPath(board.slug) },
    isMerged: idea.merged_into_id !== null,
    // Undefined if the target of the merge is not public.
    mergedInto: target && linkTo(board, target),
    ...presentComments(comments, path),
    first: cursor === undefined ? undefined : { label: 'Back to the first comments', href: path },
  });
}

function linkTo(board: BoardView, idea: IdeaView): Link {
  return { label: shortLine(idea.title, 200), href: ideaPath(board.slug, idea.id) };
}

function presentComments({ rows, nextCursor }: Page<CommentView>, path: string) {
  return {
    comments: rows.map(({ id, body, author_name, created_at }) => ({
      id,
      body,
      authorName: presentName(author_name),
      createdAt: presentTime(created_at),
    })),
    next: nextCursor === null ? undefined : { label: 'More comments', href: `${path}?cursor=${nextCursor}#comments` },
  };
}
