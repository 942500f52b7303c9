import { maxStatusesOfBoard } from '../../../contract/limits.ts';
import type { StatusCategory } from '../../../contract/status.ts';
import { Status } from '../../entities/board.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, explainViolations, noteFields } from '../administration.ts';
import { type BoardOfAccount, lockBoard } from '../boards/find-board.ts';
import { countBounded, countLimit } from '../bounded-count.ts';
import { checkKey, checkName, quote } from '../fields.ts';

export interface StatusFields {
  key: string;
  category: StatusCategory;
  label: string;
  isHidden?: boolean;
  allowVotes?: boolean;
  allowComments?: boolean;
  /** The position in the board's list of statuses, starting at 1. The default is the last position. */
  position?: number;
}

export async function addStatus(admin: Administration, board: BoardOfAccount, input: StatusFields): Promise<Status> {
  const { position, ...fields } = input;
  await lockBoard(admin, board);
  if ((await admin.em.count(Status, { accountId: board.accountId, boardId: board.id })) >= maxStatusesOfBoard) {
    throw new AdministrationError('conflict', t('refusals.status.limit', { max: maxStatusesOfBoard }));
  }
  const status = admin.em.create(Status, {
    ...fields,
    key: checkKey(input.key),
    label: checkName(input.label, 60, 'label'),
    accountId: board.accountId,
    boardId: board.id,
    position: 0,
  });
  await explainViolations(keyTaken(status.key), () => admin.em.flush());
  await placeStatus(admin, status, position ?? Number.POSITIVE_INFINITY);
  admin.audit.record('status.added', describe(status));
  return status;
}

/** Changes a status. If the key changes, API clients must use the new key. */
export async function updateStatus(admin: Administration, status: Status, changes: Partial<StatusFields>) {
  const { key, label, category, position, ...flags } = changes;
  await lockRegistry(admin, status);
  const changedFields = noteFields(status, [
    'key',
    'label',
    'category',
    'isHidden',
    'allowVotes',
    'allowComments',
    'position',
  ]);
  if (category !== undefined && category !== 'inbox') await checkNotLastInbox(admin, status, 'moved');
  if (category !== undefined) status.category = category;
  if (key !== undefined) status.key = checkKey(key);
  if (label !== undefined) status.label = checkName(label, 60, 'label');
  admin.em.assign(status, flags);
  await explainViolations(keyTaken(status.key), () => admin.em.flush());
  if (position !== undefined) await placeStatus(admin, status, position);
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('status.updated', { ...describe(status), changed });
}

/**
 * Removes a status of a board. Throws if an idea has the status, even if the idea is rejected or merged. Deleted ideas,
 * which nobody sees, get another status of the board.
 */
export async function removeStatus(admin: Administration, status: Status): Promise<void> {
  await lockRegistry(admin, status);
  await checkNotLastInbox(admin, status, 'removed');
  const { accountId, boardId, id } = status;
  const ideas = admin.db
    .selectFrom('ideas')
    .where(idea => idea.and({ account_id: accountId, board_id: boardId, status_id: id }));
  const visible = ideas.where('moderation_state', '<>', 'deleted');
  const { count } = await admin.db.selectNoFrom(countBounded(visible).as('count')).executeTakeFirstOrThrow();
  if (count > 0) throw new AdministrationError('conflict', inUse(status, count));
  const deleted = ideas.where('moderation_state', '=', 'deleted').select('id').orderBy('id').forNoKeyUpdate();
  await admin.db
    .updateTable('ideas')
    .set(idea => ({
      status_id: idea
        .selectFrom('statuses')
        .select(other => other.fn.min('id').$notNull().as('id'))
        .where(other => other.and({ account_id: accountId, board_id: boardId }))
        .where('id', '<>', id),
    }))
    .where('account_id', '=', accountId)
    .where('id', 'in', deleted)
    .execute();
  // Another transaction may give an idea this status after the ideas were counted. In this case, a foreign key prevents
  // the removal.
  const removed = describe(status);
  await explainViolations({ ideas_status_of_board_fkey: t('refusals.status.in_use_now', { status: status.key }) }, () =>
    admin.em.remove(status).flush(),
  );
  admin.audit.record('status.removed', removed);
}

export function requireStatus(admin: Administration, { id: boardId, accountId }: BoardOfAccount, key: string) {
  return admin.em.findOneOrFail(Status, { accountId, boardId, key }, { failHandler: () => notFound(key) });
}

/** Waits until other changes of the board's statuses have committed, and then reads the status again. */
async function lockRegistry(admin: Administration, status: Status) {
  await lockBoard(admin, { id: status.boardId, accountId: status.accountId });
  if (!(await admin.em.refresh(status))) throw notFound(status.key);
}

/** Throws if a board would lose its last inbox status, because a new idea starts in the first inbox status. */
async function checkNotLastInbox(admin: Administration, status: Status, change: 'moved' | 'removed') {
  if (status.category !== 'inbox') return;
  const { accountId, boardId } = status;
  if ((await admin.em.count(Status, { accountId, boardId, category: 'inbox' })) > 1) return;
  throw new AdministrationError('conflict', t(`refusals.status.last_inbox_${change}`, { status: status.key }));
}

async function placeStatus(admin: Administration, status: Status, position: number) {
  const { accountId, boardId } = status;
  const others = await admin.em.find(
    Status,
    { accountId, boardId, id: { $ne: status.id } },
    { orderBy: { position: 'asc', id: 'asc' } },
  );
  const ordered = others.toSpliced(Math.max(position, 1) - 1, 0, status);
  for (const [index, one] of ordered.entries()) one.position = index + 1;
  await admin.em.flush();
}

function describe({ accountId, boardId, key }: Status) {
  return { account_id: accountId, board_id: boardId, key };
}

function notFound(key: string) {
  return new AdministrationError('not_found', t('refusals.status.unknown', { key: quote(key) }));
}

function keyTaken(key: string) {
  return { statuses_board_id_key_key: t('refusals.status.key_taken', { key }) };
}

function inUse({ key: status }: Status, count: number): string {
  if (count > countLimit) return t('refusals.status.in_use_beyond_limit', { status, limit: countLimit });
  return t('refusals.status.in_use', { status, count });
}

function statusListings({ db }: Administration, board: BoardOfAccount) {
  return db
    .selectFrom('statuses as s')
    .select(['s.id', 's.key', 's.category', 's.label', 's.is_hidden', 's.allow_votes', 's.allow_comments'])
    .select(s =>
      s.fn
        .agg<number>('row_number')
        .over(over => over.orderBy('s.position').orderBy('s.id'))
        .as('position'),
    )
    .where(s => s.and({ 's.account_id': board.accountId, 's.board_id': board.id }));
}

export type StatusListing = Awaited<ReturnType<typeof listStatuses>>[number];

export function listStatuses(admin: Administration, board: BoardOfAccount) {
  return statusListings(admin, board).orderBy('s.position').orderBy('s.id').execute();
}

/**
 * Selects statuses with the numbers of their published and pending ideas. Each count uses its own index. Merged and
 * rejected ideas are not counted, because no list of a status shows them.
 */
function statusesInUse(admin: Administration, board: BoardOfAccount) {
  const statuses = statusListings(admin, board).select(s => s.fn.countAll<number>().over().as('status_count'));
  return admin.db
    .selectFrom(statuses.as('s'))
    .selectAll('s')
    .select(s => {
      const ideas = s
        .selectFrom('ideas as i')
        .where('i.account_id', '=', board.accountId)
        .whereRef('i.status_id', '=', 's.id');
      const published = ideas.where('i.moderation_state', '=', 'published').where('i.merged_into_id', 'is', null);
      const pending = ideas.where('i.moderation_state', '=', 'pending');
      return [countBounded(published).as('idea_count'), countBounded(pending).as('pending_count')];
    })
    .orderBy('s.position');
}

export type StatusInUse = Awaited<ReturnType<typeof listStatusesInUse>>[number];

/** Lists the statuses of a board with the numbers of their ideas. Numbers above countLimit are not exact. */
export function listStatusesInUse(
  admin: Administration,
  board: BoardOfAccount,
  { limit, offset }: { limit: number; offset: number },
) {
  return statusesInUse(admin, board).limit(limit).offset(offset).execute();
}

export function readStatusInUse(admin: Administration, board: BoardOfAccount, key: string): Promise<StatusInUse> {
  return statusesInUse(admin, board)
    .where('s.key', '=', key)
    .executeTakeFirstOrThrow(() => notFound(key));
}
