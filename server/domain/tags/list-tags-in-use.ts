import { type Administration, AdministrationError } from '../administration.ts';
import type { BoardOfAccount } from '../boards/find-board.ts';
import { countOf } from '../bounded-count.ts';
import { ideasWith, type TagListing, tagsOf } from './edit-tags.ts';

/** Like tagListings, but a count is quick where a tag has many ideas. */
function tagsInUse(admin: Administration, board: BoardOfAccount) {
  return tagsOf(admin, board).select(t => countOf(ideasWith(t, board.accountId)).as('idea_count'));
}

/** Lists some of the tags of a board by name, and how many ideas have each, counted as far as countLimit. */
export function listTagsInUse(
  admin: Administration,
  board: BoardOfAccount,
  { limit, offset }: { limit: number; offset: number },
): Promise<TagListing[]> {
  return tagsInUse(admin, board).limit(limit).offset(offset).execute();
}

export async function readTagInUse(admin: Administration, board: BoardOfAccount, id: number): Promise<TagListing> {
  const tag = await tagsInUse(admin, board).where('t.id', '=', id).executeTakeFirst();
  if (!tag) throw new AdministrationError('not_found', `The board has no tag ${id}`);
  return tag;
}
