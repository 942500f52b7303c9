import type { Config } from '../../config.ts';
import { readBoard } from '../../domain/boards/read-board.ts';
import { ideasOfStatus, listRoadmap, roadmapCategories } from '../../domain/ideas/list-roadmap.ts';
import type { ReadOperation } from '../../domain/operation.ts';
import { cutRows } from '../../domain/pagination.ts';
import type { Html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import { definePage } from '../shell/page.ts';
import { boardFrame, boardPath, ideaPath, roadmapPath } from './present-idea.ts';

const roadmapPage = definePage<object>('pages/public-board/roadmap');

/** Renders the planned, active and completed ideas of a public board: a column for each status, the best ideas first. */
export async function showRoadmap(op: ReadOperation, config: Pick<Config, 'BASE_URL'>): Promise<Html> {
  const [board, ideas] = await Promise.all([readBoard(op), listRoadmap(op)]);
  const name = shortLine(board.name, 100);
  const frame = boardFrame(board, {
    config,
    title: `Roadmap · ${name}`,
    view: 'roadmap',
    description: board.description,
    canonicalPath: roadmapPath(board.slug),
  });
  const columns = board.statuses
    .filter(({ category, is_hidden }) => !is_hidden && roadmapCategories.some(shown => shown === category))
    .map(({ key, category, label }) => {
      const { rows, hasMore } = cutRows(ideas.get(key) ?? [], ideasOfStatus);
      return {
        category,
        label: shortLine(label, 60),
        href: `${boardPath(board.slug)}?${new URLSearchParams({ status_key: key, sort: 'top' })}`,
        hasMore,
        ideas: rows.map(({ id, title, score }) => ({
          title: shortLine(title, 200),
          href: ideaPath(board.slug, id),
          score,
        })),
      };
    });
  return roadmapPage(frame, { columns });
}
