import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countOf } from '../bounded-count.ts';
import type { TagListing } from './edit-tags.ts';

// As listTags, but with counts that are as quick where a tag has many ideas.
const selectTagsInUse = plannedStatement<TagListing>(`
  select t.id, t.name, t.color, ${countOf('from idea_tags it where it.tag_id = t.id')} as idea_count
  from tags t
  where t.board_id = $1 and ($2::bigint is null or t.id = $2)
  order by lower(t.name), t.id
  limit $3 offset $4`);

/** Lists some of the tags of a board by name, and how many ideas have each, counted as far as countLimit. */
export function listTagsInUse(
  admin: Administration,
  boardId: number,
  { limit, offset }: { limit: number; offset: number },
): Promise<TagListing[]> {
  return admin.query(selectTagsInUse, [boardId, null, limit, offset]);
}

export async function readTagInUse(admin: Administration, boardId: number, id: number): Promise<TagListing> {
  const [tag] = await admin.query(selectTagsInUse, [boardId, id, 1, 0]);
  if (!tag) throw new AdministrationError('not_found', `The board has no tag ${id}`);
  return tag;
}
