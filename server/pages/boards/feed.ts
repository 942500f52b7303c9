import type { Config } from '../../config.ts';
import type { BoardView } from '../../domain/boards/read-board.ts';
import { type CommentView, readReplies } from '../../domain/comments/comments.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import type { ReadOperation } from '../../domain/operation.ts';
import { placeOf } from '../../domain/pagination.ts';
import { presentTime } from '../../domain/time.ts';
import { t } from '../../text/catalogue.ts';
import type { Html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import { shownName } from '../shell/show.ts';
import { loadTemplate } from '../shell/template.ts';
import { boardPath, feedPath, ideaPath } from './opened-board.ts';

const renderFeed = loadTemplate<object>('pages/boards/feed');

const newestIdeas = 30;

/** Renders the newest ideas of a public board as an Atom feed (RFC 4287). */
export async function showFeed(
  op: ReadOperation,
  board: BoardView,
  { BASE_URL }: Pick<Config, 'BASE_URL'>,
): Promise<Html> {
  const place = placeOf({}, 'newest', newestIdeas);
  const { rows: ideas } = await listIdeas(op, { sort: 'newest', isPending: false, tagsOfBoard: board.tags }, place);
  const replies = await readReplies(
    op,
    ideas.map(({ id }) => id),
  );
  const entries = ideas.map(idea => ({
    id: idOf(BASE_URL, `idea-${idea.id}`, idea.created_at),
    title: shortLine(idea.title, 200),
    published: presentTime(idea.created_at),
    updated: [idea.updated_at, ...timesOf(replies.get(idea.id))].map(presentTime).sort().at(-1) ?? '',
    author: shownName(idea.author_name),
    url: `${BASE_URL}${ideaPath(board.slug, idea.id)}`,
    categories: [idea.status_label, ...idea.tags.map(({ name }) => name)].map(label => shortLine(label, 60)),
    content: withReply(idea.body, replies.get(idea.id)),
  }));
  return renderFeed({
    id: idOf(BASE_URL, `board-${board.id}`, board.created_at),
    title: shortLine(board.name, 100),
    subtitle: shortLine(board.description, 200, ''),
    updated: entries.reduce(
      (latest, { updated }) => (updated > latest ? updated : latest),
      presentTime(board.created_at),
    ),
    self: `${BASE_URL}${feedPath(board.slug)}`,
    alternate: `${BASE_URL}${boardPath(board.slug)}`,
    entries,
  });
}

function timesOf(reply: CommentView | undefined): string[] {
  return reply ? [reply.edited_at ?? reply.created_at] : [];
}

function withReply(body: string, reply: CommentView | undefined): string {
  if (!reply) return body;
  const heading = t('boards.official_reply.in_feed', { author: shownName(reply.author_name) });
  return `${body}\n\n${heading}\n${reply.body}`;
}

/**
 * Returns a tag URI (RFC 4151). The URI does not contain the slug of the board, so that feed readers do not show known
 * ideas as new after the slug changes.
 */
function idOf(baseUrl: string, name: string, createdAt: string): string {
  return `tag:${new URL(baseUrl).hostname},${presentTime(createdAt).slice(0, 10)}:${name}`;
}
