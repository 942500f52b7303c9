import { readBoard } from '../domain/boards/read-board.ts';
import { presentTime } from '../domain/time.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';

export function boardEndpoints(runner: OperationRunner): Pick<Endpoints, 'getBoard'> {
  return {
    getBoard: async ({ request }) => {
      const { statuses, tags, ...board } = await runner.read(request, readBoard);
      const windows = {
        submissions_open_at: presentTime(board.submissions_open_at),
        submissions_close_at: presentTime(board.submissions_close_at),
        voting_open_at: presentTime(board.voting_open_at),
        voting_close_at: presentTime(board.voting_close_at),
      };
      return { status: 200, body: { board: { ...board, ...windows }, statuses, tags } };
    },
  };
}
