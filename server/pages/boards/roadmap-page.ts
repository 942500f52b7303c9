import { ideasOfStatus, listRoadmap, roadmapCategories } from '../../domain/ideas/list-roadmap.ts';
import { cutRows } from '../../domain/pagination.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { type BoardVisit, boardOf, pathOn, roadmapPath } from './opened-board.ts';
import { frameOfBoard } from './present-idea.ts';

/**
 * Shows the planned, active and completed ideas of a board. Each status has a column, which begins with the ideas that
 * have the highest scores.
 */
export async function showRoadmap(visit: BoardVisit) {
  const { board, read, slug } = boardOf(visit.request);
  const ideas = await listRoadmap(read);
  const frame = frameOfBoard(visit, board, {
    page: t('boards.frame.roadmap'),
    view: 'roadmap',
    description: board.description,
    canonicalPath: roadmapPath(slug),
  });
  const columns = board.statuses
    .filter(({ category, is_hidden }) => !is_hidden && roadmapCategories.some(shown => shown === category))
    .map(({ key, category, label }) => {
      const { rows, hasMore } = cutRows(ideas.get(key) ?? [], ideasOfStatus);
      return {
        category,
        label: shortLine(label, 60),
        href: pathOn(visit.request, '', { status_key: key, sort: 'top' }),
        hasMore,
        ideas: rows.map(({ id, title, score }) => ({
          title: shortLine(title, 200),
          href: pathOn(visit.request, `/ideas/${id}`),
          score,
        })),
      };
    });
  return visit.page('roadmap', frame, { columns });
}
