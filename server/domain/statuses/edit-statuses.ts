import type { StatusCategory } from '../../../contract/status.ts';
import { Status } from '../../entities/board.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { type BoardOfAccount, lockBoard } from '../boards/find-board.ts';
import { countLimit, countOf } from '../bounded-count.ts';
import { noteFields } from '../changed-fields.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkName, checkStatusKey, quote } from '../fields.ts';

export interface StatusFields {
  key: string;
  category: StatusCategory;
  label: string;
  isHidden?: boolean;
  allowVotes?: boolean;
  allowComments?: boolean;
  /** The place in the registry, from 1; the last one when left out or larger. */
  position?: number;
}

/** Adds a status to the registry of a board. */
export async function addStatus(admin: Administration, board: BoardOfAccount, input: StatusFields): Promise<Status> {
  const { position, ...fields } = input;
  await lockBoard(admin, board);
  const status = admin.em.create(Status, {
    ...fields,
    key: checkStatusKey(input.key),
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

/** Changes a status; ideas in it follow. A new key is a new value in the API, too. */
export async function updateStatus(
  admin: Administration,
  status: Status,
  changes: Partial<StatusFields>,
): Promise<void> {
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
  if (category !== undefined && category !== 'inbox') await checkNotLastInbox(admin, status, 'moved out of it');
  if (category !== undefined) status.category = category;
  if (key !== undefined) status.key = checkStatusKey(key);
  if (label !== undefined) status.label = checkName(label, 60, 'label');
  admin.em.assign(status, flags);
  await explainViolations(keyTaken(status.key), () => admin.em.flush());
  if (position !== undefined) await placeStatus(admin, status, position);
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('status.updated', { ...describe(status), changed });
}

/** Removes a status that no idea has, not even one that was rejected or merged. */
export async function removeStatus(admin: Administration, status: Status): Promise<void> {
  await lockRegistry(admin, status);
  await checkNotLastInbox(admin, status, 'removed');
  const ideas = await countIdeasIn(admin, status);
  if (ideas > 0) throw new AdministrationError('conflict', inUse(status, describeCount(ideas)));
  // An idea may be moved here after it was counted: the database refuses, and says so through the constraint.
  const removed = describe(status);
  await explainViolations({ ideas_status_of_board_fkey: inUse(status, 'Ideas') }, () =>
    admin.em.remove(status).flush(),
  );
  admin.audit.record('status.removed', removed);
}

/** Also counts the ideas that no list shows, since they keep the status from being removed, too. */
async function countIdeasIn({ db }: Administration, { accountId, boardId, id }: Status): Promise<number> {
  const ideas = db
    .selectFrom('ideas')
    .where('account_id', '=', accountId)
    .where('board_id', '=', boardId)
    .where('status_id', '=', id);
  const { count } = await db.selectNoFrom(countOf(ideas).as('count')).executeTakeFirstOrThrow();
  return count;
}

export async function requireStatus(
  admin: Administration,
  { id: boardId, accountId }: BoardOfAccount,
  key: string,
): Promise<Status> {
  const status = await admin.em.findOne(Status, { accountId, boardId, key });
  if (!status) throw notFound(key);
  return status;
}

/** Waits for whoever changes the registry, and reads what they left of the status. */
async function lockRegistry(admin: Administration, status: Status) {
  await lockBoard(admin, { id: status.boardId, accountId: status.accountId });
  if (!(await admin.em.refresh(status))) throw notFound(status.key);
}

/** New ideas start in the first status of the category inbox, so a board keeps one. */
async function checkNotLastInbox(admin: Administration, status: Status, what: string) {
  if (status.category !== 'inbox') return;
  const { accountId, boardId } = status;
  if ((await admin.em.count(Status, { accountId, boardId, category: 'inbox' })) > 1) return;
  throw new AdministrationError(
    'conflict',
    `${status.key} is the board's last status of the category inbox, where new ideas start: it cannot be ${what}`,
  );
}

/** Puts a status at a place of the registry and renumbers all of them. */
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
  return new AdministrationError('not_found', `The board has no status ${quote(key)}`);
}

function keyTaken(key: string) {
  return { statuses_board_id_key_key: `Another status of the board has the key ${key}` };
}

function describeCount(count: number) {
  if (count > countLimit) return `More than ${countLimit} ideas`;
  return count === 1 ? '1 idea' : `${count} ideas`;
}

function inUse(status: Status, ideas: string) {
  return `${ideas} ${ideas === '1 idea' ? 'has' : 'have'} the status ${status.key}: move them to another first`;
}
