import type { StatusCategory } from '../../../contract/status.ts';
import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countOf } from '../bounded-count.ts';
import { quote } from '../fields.ts';

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

export interface StatusInUse extends StatusListing {
  /** How many ideas have it that are published, and not merged; counted as far as countLimit. */
  idea_count: number;
  /** How many ideas in it await approval; counted as far. */
  pending_count: number;
  /** How many statuses the board has. */
  status_count: number;
}

// Each of the two counts goes by an index of its own. What is merged or rejected is in no list, and is not counted.
const selectStatusesInUse = plannedStatement<StatusInUse>(`
  select s.*,
    ${countOf(`from ideas i
      where i.status_id = s.id and i.moderation_state = 'published' and i.merged_into_id is null`)} as idea_count,
    ${countOf(`from ideas i where i.status_id = s.id and i.moderation_state = 'pending'`)} as pending_count
  from (
    select s.id, s.key, s.category, s.label, s.is_hidden, s.allow_votes, s.allow_comments,
      row_number() over (order by s.position, s.id) as position, count(*) over () as status_count
    from statuses s
    where s.board_id = $1
  ) s
  where $2::text is null or s.key = $2
  order by s.position
  limit $3 offset $4`);

/** Lists some of the statuses of a board, in their order, and how many ideas have each. */
export function listStatusesInUse(
  admin: Administration,
  boardId: number,
  { limit, offset }: { limit: number; offset: number },
): Promise<StatusInUse[]> {
  return admin.query(selectStatusesInUse, [boardId, null, limit, offset]);
}

export async function readStatusInUse(admin: Administration, boardId: number, key: string): Promise<StatusInUse> {
  const [status] = await admin.query(selectStatusesInUse, [boardId, key, 1, 0]);
  if (!status) throw new AdministrationError('not_found', `The board has no status ${quote(key)}`);
  return status;
}
