import type { Idea } from '../../../contract/idea.ts';
import { readBoard } from '../../domain/boards/read-board.ts';
import { recordIdeaExport } from '../../domain/ideas/export-ideas.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import { linkToIdeas, presentIdea } from '../../domain/ideas/present-idea.ts';
import { placeOf } from '../../domain/pagination.ts';
import { ownProblemOf } from '../../pages/shell/form.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { chargeForm } from '../../pages/shell/throttle-forms.ts';
import type { Answer, Route, Visit } from '../../pages/shell/visit.ts';
import { actOnBoard } from './act-on-board.ts';
import { ideasInCsv } from './idea-csv.ts';
import { filterOf, IdeasQuery, showIdeas } from './idea-list-routes.ts';

/**
 * The form that downloads the ideas of a list as a CSV file. Its URL has the query of the list, and shows the list if a
 * person reloads the page of a refused form.
 */
export const exportRoute: Route = {
  path: '/admin/ideas/export',
  show: showIdeas,
  run: sendIdeas,
  problemOf: ownProblemOf,
};

/** The maximum number of files that a moderator may download in an hour, because a file can have many ideas. */
const exportsPerHour = 10;

const ideasPerStatement = 100;

/** The maximum number of ideas in a file: the newest ones. */
const maxIdeas = 100_000;

async function sendIdeas(visit: Visit): Promise<Answer> {
  const { server, user } = visit;
  const query = readQuery(IdeasQuery, visit.request.query);
  const board = query.board ?? '';
  const limit: [string, string, number, number] = ['idea-export:user', String(user.id), exportsPerHour, 3_600];
  await chargeForm(server, visit, 'downloads', [limit]);
  await actOnBoard(visit, board, async op => recordIdeaExport(op, op.actor));
  const linkTo = linkToIdeas(server.config, board);
  // Each page has its own transaction, which checks again that the person is a moderator. Sorts by the time of creation,
  // which never changes, so that no idea is missing or twice in the file.
  const readPage = (cursor: string | undefined) =>
    actOnBoard(visit, board, async op => {
      const filter = { ...filterOf(await readBoard(op), query), sort: 'newest', isPending: false } as const;
      const { rows, nextCursor } = await listIdeas(op, filter, placeOf({ cursor }, filter.sort, ideasPerStatement));
      return { ideas: rows.map(idea => presentIdea(idea, linkTo)), next: nextCursor };
    });
  const day = server.clock.now().toISOString().slice(0, 10);
  return { file: writeFile(readPage), name: `ideas-${board}-${day}.csv`, type: 'text/csv' };
}

type ReadPage = (cursor: string | undefined) => Promise<{ ideas: Idea[]; next: string | null }>;

async function* writeFile(readPage: ReadPage): AsyncIterable<string> {
  let cursor: string | undefined;
  for (let count = 0; count < maxIdeas; count += ideasPerStatement) {
    const { ideas, next } = await readPage(cursor);
    yield ideasInCsv(ideas, count === 0);
    if (next === null) return;
    cursor = next;
  }
}
