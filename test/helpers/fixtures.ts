import { randomBytes } from 'node:crypto';
import { type Capability, capabilities, type Grant } from '../../contract/grants.ts';
import { type StatusCategory, statusOfCategory } from '../../contract/status.ts';
import type { Transaction } from '../../server/database/database.ts';
import { insertToken } from '../../server/domain/tokens/change-tokens.ts';
import { Account } from '../../server/entities/account.ts';
import { Board, Status, Tag } from '../../server/entities/board.ts';
import type { Idea } from '../../server/entities/idea.ts';
import { Membership, type Role } from '../../server/entities/membership.ts';
import { User } from '../../server/entities/user.ts';
import { operatorIn } from './administration.ts';
import type { TestDatabase } from './database.ts';

type Db = Pick<TestDatabase, 'database'>;

export interface World {
  accountId: number;
  ownerId: number;
  boardId: number;
  boardSlug: string;
}

const unique = () => randomBytes(5).toString('hex');

const defaultStatuses = Object.entries(statusOfCategory).map(([category, key]) => ({
  key,
  category: category as StatusCategory,
  label: key,
}));

/** Creates an account with an owner and one board, which by default has the six default statuses. */
export async function createWorld({ database }: Db, board: Partial<BoardInput> = {}): Promise<World> {
  return database.transaction(async transaction => {
    const accountId = await addAccount(transaction, 'community');
    const ownerId = await addMember(transaction, accountId, 'owner', 'The owner');
    const { id: boardId, slug: boardSlug } = await addBoard(transaction, accountId, board);
    return { accountId, ownerId, boardId, boardSlug };
  });
}

export async function createAccount({ database }: Db, plan = 'community'): Promise<{ accountId: number }> {
  return { accountId: await database.transaction(transaction => addAccount(transaction, plan)) };
}

async function addAccount({ em }: Transaction, plan: string): Promise<number> {
  const account = em.create(Account, { slug: `account-${unique()}`, name: 'An account', plan });
  await em.flush();
  return account.id;
}

export async function createUser({ database }: Db, name = 'Somebody'): Promise<number> {
  return database.transaction(transaction => addUser(transaction, name));
}

async function addUser({ em }: Transaction, name: string): Promise<number> {
  const user = em.create(User, { email: `${unique()}@example.com`, name });
  await em.flush();
  return user.id;
}

export async function createMember({ database }: Db, accountId: number, role: Role, name = `The ${role}`) {
  return database.transaction(transaction => addMember(transaction, accountId, role, name));
}

async function addMember(transaction: Transaction, accountId: number, role: Role, name: string): Promise<number> {
  const userId = await addUser(transaction, name);
  transaction.em.create(Membership, { accountId, userId, role });
  return userId;
}

type BoardSettings = Pick<
  Board,
  | 'isFrozen'
  | 'preModeration'
  | 'isPublic'
  | 'submissionsOpenAt'
  | 'submissionsCloseAt'
  | 'votingOpenAt'
  | 'votingCloseAt'
  | 'slug'
  | 'name'
  | 'description'
>;

export interface BoardInput extends Partial<BoardSettings> {
  statuses?: (Pick<Status, 'key' | 'category' | 'label'> &
    Partial<Pick<Status, 'isHidden' | 'allowVotes' | 'allowComments'>>)[];
}

export async function createBoard(
  { database }: Db,
  accountId: number,
  input: BoardInput = {},
): Promise<{ id: number; slug: string }> {
  return database.transaction(transaction => addBoard(transaction, accountId, input));
}

async function addBoard(
  { em }: Transaction,
  accountId: number,
  { statuses = defaultStatuses, ...settings }: BoardInput,
): Promise<{ id: number; slug: string }> {
  const board = em.create(Board, { slug: `board-${unique()}`, name: 'A board', ...settings, accountId });
  await em.flush();
  for (const [position, status] of statuses.entries()) {
    em.create(Status, { ...status, accountId, boardId: board.id, position });
  }
  return { id: board.id, slug: board.slug };
}

export async function createTag({ database }: Db, accountId: number, boardId: number, name = `tag ${unique()}`) {
  return database.transaction(async ({ em }) => {
    const tag = em.create(Tag, { accountId, boardId, name, color: '#0f766e' });
    await em.flush();
    return tag.id;
  });
}

/**
 * Issues a token. Returns its plaintext and id. By default, the issuer is the owner of the test account (`world`), and
 * the time of the last use is in the future. Otherwise a server would store this time after the first request, with one
 * more connection.
 */
export async function issueToken(
  { database }: Db,
  world: World,
  grant: Grant | Record<number, Grant>,
  options: {
    issuerId?: number;
    expiresAt?: Date;
    name?: string;
    isUnused?: boolean;
    /** By default, a token with the grant moderate has every capability, and other tokens have none. */
    capabilities?: readonly Capability[];
  } = {},
): Promise<{ token: string; id: number }> {
  const grants = typeof grant === 'string' ? { [world.boardId]: grant } : grant;
  const { token, plaintext } = await database.transaction(async transaction => {
    const issued = await insertToken(operatorIn(transaction), {
      accountId: world.accountId,
      issuerId: options.issuerId ?? world.ownerId,
      name: options.name ?? 'A token',
      capabilities: options.capabilities ?? (Object.values(grants).includes('moderate') ? capabilities : []),
      boards: Object.entries(grants).map(([boardId, level]) => ({ boardId: Number(boardId), grant: level })),
      ...(options.expiresAt ? { expiresAt: options.expiresAt } : {}),
    });
    if (!options.isUnused) issued.token.lastUsedAt = new Date(Date.now() + 24 * 60 * 60 * 1_000);
    return issued;
  });
  return { token: plaintext, id: token.id };
}

/** Sets when an idea was last changed, also to an earlier time, which the database otherwise prevents. */
export async function setUpdatedAt({ sql }: Pick<TestDatabase, 'sql'>, ideaId: number, at: string): Promise<void> {
  await sql(`
    alter table ideas disable trigger ideas_advance_updated_at;
    update ideas set updated_at = '${at}' where id = ${ideaId};
    alter table ideas enable trigger ideas_advance_updated_at;
  `);
}

/** Inserts a comment by the owner, who follows the idea. */
export async function insertComment({ sql }: Pick<TestDatabase, 'sql'>, world: World, ideaId: number): Promise<number> {
  const values = [world.accountId, ideaId, world.ownerId];
  await sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3) on conflict do nothing', values);
  await sql('update ideas set comment_count = comment_count + 1 where account_id = $1 and id = $2', values.slice(0, 2));
  const [comment] = await sql<{ id: number }>(
    `insert into comments (account_id, idea_id, author_id, body) values ($1, $2, $3, 'The comment') returning id`,
    values,
  );
  return comment?.id ?? 0;
}

/** Inserts an idea directly into the database, in the status with the given key. */
export async function insertIdea(
  { sql }: Pick<TestDatabase, 'sql'>,
  { accountId, boardId, ownerId }: World,
  input: Partial<Pick<Idea, 'title' | 'body' | 'moderationState' | 'authorId' | 'createdAt'>> & {
    status?: string;
  } = {},
): Promise<number> {
  const { title = 'An idea', body = 'Its description.', moderationState = 'published', authorId = ownerId } = input;
  const { status = 'open', createdAt = new Date() } = input;
  const [idea] = await sql<{ id: number }>(
    `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, created_at, updated_at)
    select $1, $2, $3, id, $4, $5, $6, $7, $7 from statuses where account_id = $1 and board_id = $2 and key = $8
    returning id`,
    [accountId, boardId, authorId, title, body, moderationState, createdAt, status],
  );
  if (!idea) throw new Error(`The board has no status ${status}`);
  return idea.id;
}
