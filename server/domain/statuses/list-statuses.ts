import type { StatusCategory } from '../../../contract/status.ts';
import { plannedStatement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';

export interface StatusListing {
  id: number;
  key: string;
  category: StatusCategory;
  label: string;
  is_hidden: boolean;
  allow_votes: boolean;
  allow_comments: boolean;
  /** The place in the registry, from 1. */
  position: number;
}

const selectStatuses = plannedStatement<StatusListing>(`
  select s.id, s.key, s.category, s.label, s.is_hidden, s.allow_votes, s.allow_comments,
    row_number() over (order by s.position, s.id) as position
  from statuses s
  where s.board_id = $1
  order by s.position, s.id`);

/** Lists the status registry of a board, in its order. */
export function listStatuses(admin: Administration, boardId: number): Promise<StatusListing[]> {
  return admin.query(selectStatuses, [boardId]);
}
