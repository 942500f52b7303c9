import { raw } from '@mikro-orm/postgresql';
import { maxTagsOfBoard } from '../../../contract/limits.ts';
import { Tag } from '../../entities/board.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, explainViolations, noteFields } from '../administration.ts';
import { type BoardOfAccount, lockBoard } from '../boards/find-board.ts';
import { countAll, countBounded } from '../bounded-count.ts';
import { checkColor, checkName, quote } from '../fields.ts';
import { addTouchJobs } from './touch-ideas.ts';

interface TagFields {
  name: string;
  /** The color of the tag: # and six hexadecimal digits. The server stores the digits in lower case. */
  color: string;
}

/** Adds a tag to a board. Locks the board, so that parallel additions cannot exceed the maximum number of tags. */
export async function addTag(admin: Administration, board: BoardOfAccount, input: TagFields): Promise<Tag> {
  const name = checkName(input.name, 40);
  const color = checkColor(input.color);
  await lockBoard(admin, board);
  if ((await admin.em.count(Tag, { accountId: board.accountId, boardId: board.id })) >= maxTagsOfBoard) {
    throw new AdministrationError('conflict', t('refusals.tag.limit', { max: maxTagsOfBoard }));
  }
  const tag = admin.em.create(Tag, { name, color, boardId: board.id, accountId: board.accountId });
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

/**
 * Removes a tag from its board and from all ideas. Jobs then increase the `updated_at` of these ideas: for 100,000
 * ideas, this takes about ten seconds, and votes on locked ideas must wait. The lock of the tag waits for transactions
 * that add the tag to an idea, so that the jobs include this idea. There are no events, because they would be as many
 * as the ideas.
 */
export async function removeTag(admin: Administration, tag: Tag): Promise<void> {
  const removed = describe(tag);
  const { id, accountId } = tag;
  await admin.db
    .selectFrom('tags')
    .select('id')
    .where(row => row.and({ account_id: accountId, id }))
    .forUpdate()
    .execute();
  await admin.query(addTouchJobs, { accountId, tagId: id });
  await admin.em.remove(tag).flush();
  admin.audit.record('tag.removed', removed);
}

/** Finds a tag of a board by its name. Upper and lower case do not matter. */
export async function requireTag(admin: Administration, { id: boardId, accountId }: BoardOfAccount, name: string) {
  const hasName = { [raw('lower(name)')]: raw('lower(?)', [name.trim()]) };
  const tag = await admin.em.findOne(Tag, { accountId, boardId, ...hasName });
  if (!tag) throw new AdministrationError('not_found', t('refusals.tag.unknown', { tag: quote(name) }));
  return tag;
}

export async function requireTagOfId(admin: Administration, board: BoardOfAccount, id: number): Promise<Tag> {
  await admin.db
    .selectFrom('tags')
    .select('id')
    .where(row => row.and({ account_id: board.accountId, board_id: board.id, id }))
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.tag.unknown', { tag: id })));
  return admin.em.findOneOrFail(Tag, { id, accountId: board.accountId });
}

function tagsOf({ db }: Administration, board: BoardOfAccount, count: typeof countAll) {
  return db
    .selectFrom('tags as t')
    .select(['t.id', 't.name', 't.color'])
    .select(t => {
      const ideas = t.selectFrom('idea_tags as it').whereRef('it.tag_id', '=', 't.id');
      return count(ideas.where('it.account_id', '=', board.accountId)).as('idea_count');
    })
    .where(t => t.and({ 't.account_id': board.accountId, 't.board_id': board.id }))
    .orderBy(t => t.fn('lower', ['t.name']))
    .orderBy('t.id');
}

export type TagListing = Awaited<ReturnType<typeof listTags>>[number];

export function listTags(admin: Administration, board: BoardOfAccount) {
  return tagsOf(admin, board, countAll).execute();
}

function describe({ id, accountId, boardId }: Tag) {
  return { account_id: accountId, board_id: boardId, tag_id: id };
}

function nameTaken(name: string) {
  return { tags_board_id_name_key: t('refusals.tag.name_taken', { name: quote(name) }) };
}

/** Lists the tags of a board, and counts the ideas of each tag. Counts above countLimit are not exact. */
export function listTagsInUse(
  admin: Administration,
  board: BoardOfAccount,
  { limit, offset }: { limit: number; offset: number },
): Promise<TagListing[]> {
  return tagsOf(admin, board, countBounded).limit(limit).offset(offset).execute();
}

export function readTagInUse(admin: Administration, board: BoardOfAccount, id: number): Promise<TagListing> {
  return tagsOf(admin, board, countBounded)
    .where('t.id', '=', id)
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.tag.unknown', { tag: id })));
}
