import { plannedStatement, statement } from '../../database/statement.ts';
import { Tag } from '../../entities/tag.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { noteFields } from '../changed-fields.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkColor, checkName, quote } from '../fields.ts';

export interface TagFields {
  name: string;
  /** # and six hexadecimal digits; stored in lower case. */
  color: string;
}

/** Adds a tag to a board. */
export async function addTag(
  admin: Administration,
  board: { id: number; accountId: number },
  input: TagFields,
): Promise<Tag> {
  const name = checkName(input.name, 40);
  const tag = admin.em.create(Tag, {
    name,
    color: checkColor(input.color),
    boardId: board.id,
    accountId: board.accountId,
  });
  await explainViolations(nameTaken(name), () => admin.em.flush());
  admin.audit.record('tag.added', describe(tag));
  return tag;
}

export async function updateTag(admin: Administration, tag: Tag, changes: Partial<TagFields>): Promise<void> {
  const changedFields = noteFields(tag, ['name', 'color']);
  if (changes.name !== undefined) tag.name = checkName(changes.name, 40);
  if (changes.color !== undefined) tag.color = checkColor(changes.color);
  await explainViolations(nameTaken(tag.name), () => admin.em.flush());
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('tag.updated', { ...describe(tag), changed });
}

/** Removes a tag from its board, and so from every idea that has it. */
export async function removeTag(admin: Administration, tag: Tag): Promise<void> {
  const removed = describe(tag);
  await admin.em.remove(tag).flush();
  admin.audit.record('tag.removed', removed);
}

const selectTagByName = statement<{ id: number }>(
  'select_tag_by_name',
  'select id from tags where board_id = $1 and lower(name) = lower($2)',
);

/** Finds a tag of a board by name, whatever its case. */
export async function requireTag(admin: Administration, boardId: number, name: string): Promise<Tag> {
  const [row] = await admin.query(selectTagByName, [boardId, name.trim()]);
  if (!row) throw new AdministrationError('not_found', `The board has no tag ${quote(name)}`);
  return admin.em.findOneOrFail(Tag, row.id);
}

const lockTag = statement<{ id: number }>(
  'lock_tag',
  'select id from tags where board_id = $1 and id = $2 for no key update',
);

/** Finds a tag of a board by its id, to change it: others who change it wait. */
export async function requireTagOfId(admin: Administration, boardId: number, id: number): Promise<Tag> {
  const [locked] = await admin.query(lockTag, [boardId, id]);
  if (!locked) throw new AdministrationError('not_found', `The board has no tag ${id}`);
  return admin.em.findOneOrFail(Tag, locked.id);
}

export interface TagListing {
  id: number;
  name: string;
  color: string;
  idea_count: number;
}

const selectTags = plannedStatement<TagListing>(`
  select t.id, t.name, t.color, (select count(*) from idea_tags it where it.tag_id = t.id) as idea_count
  from tags t
  where t.board_id = $1
  order by lower(t.name), t.id`);

/** Lists the tags of a board by name. */
export function listTags(admin: Administration, boardId: number): Promise<TagListing[]> {
  return admin.query(selectTags, [boardId]);
}

function describe({ id, accountId, boardId }: Tag) {
  return { account_id: accountId, board_id: boardId, tag_id: id };
}

function nameTaken(name: string) {
  return { tags_board_id_name_key: `Another tag of the board has the name ${quote(name)}` };
}
