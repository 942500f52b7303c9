import { randomBytes } from 'node:crypto';
import { type Capability, capabilities, type Grant } from '../../contract/grants.ts';
import { type StatusCategory, statusOfCategory } from '../../contract/status.ts';
import type { Transaction } from '../../server/database/database.ts';
import { makeSecret } from '../../server/domain/sign-in/secret-text.ts';
import { passedNoticeDays } from '../../server/domain/tokens/expiry-notices.ts';
import { formatToken } from '../../server/domain/tokens/token-text.ts';
import { Account } from '../../server/entities/account.ts';
import { type Board, type Status, Tag } from '../../server/entities/board.ts';
import type { Idea } from '../../server/entities/idea.ts';
import { Membership, type Role } from '../../server/entities/membership.ts';
import { User } from '../../server/entities/user.ts';
import type { TestDatabase } from './database.ts';

type Db = Pick<TestDatabase, 'database'>;
type Sql = Pick<TestDatabase, 'sql'>;

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
export async function createWorld({ sql }: Sql, board: BoardInput = {}): Promise<World> {
  const [world] = await sql<World>(
    `with account as (
      insert into accounts (slug, name, plan) values ($1, 'An account', 'community') returning id
    ), owner as (
      insert into users (email, name) values ($2, 'The owner') returning id
    ), member as (
      insert into memberships (account_id, user_id, role) select account.id, owner.id, 'owner' from account, owner
    ), ${insertedBoard('$3')}
    select account.id as "accountId", owner.id as "ownerId", board.id as "boardId", board.slug as "boardSlug"
    from account, owner, board`,
    [`account-${unique()}`, `${unique()}@example.com`, boardInJson(board)],
  );
  if (!world) throw new Error('The account was not created');
  return world;
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
  { sql }: Sql,
  accountId: number,
  input: BoardInput = {},
): Promise<{ id: number; slug: string }> {
  const [board] = await sql<{ id: number; slug: string }>(
    `with account as (select $1::bigint as id), ${insertedBoard('$2')} select id, slug from board`,
    [accountId, boardInJson(input)],
  );
  if (!board) throw new Error('The board was not created');
  return board;
}

function boardInJson({ statuses = defaultStatuses, ...settings }: BoardInput): string {
  return JSON.stringify({ slug: `board-${unique()}`, name: 'A board', ...settings, statuses });
}

/** Returns the common table expressions that insert a board with its statuses into the account of the CTE `account`. */
function insertedBoard(input: string): string {
  return `
    board as (
      insert into boards (
        account_id, slug, name, description, is_frozen, pre_moderation, is_public,
        submissions_open_at, submissions_close_at, voting_open_at, voting_close_at
      )
      select account.id, b.slug, b.name, coalesce(b.description, ''), coalesce(b."isFrozen", false),
        coalesce(b."preModeration", false), coalesce(b."isPublic", false),
        b."submissionsOpenAt", b."submissionsCloseAt", b."votingOpenAt", b."votingCloseAt"
      from account, jsonb_to_record(${input}::jsonb) as b(
        slug text, name text, description text, "isFrozen" boolean, "preModeration" boolean, "isPublic" boolean,
        "submissionsOpenAt" timestamptz, "submissionsCloseAt" timestamptz,
        "votingOpenAt" timestamptz, "votingCloseAt" timestamptz
      )
      returning id, slug
    ), status as (
      insert into statuses (
        account_id, board_id, key, category, label, is_hidden, allow_votes, allow_comments, position
      )
      select account.id, board.id, s.key, s.category, s.label, coalesce(s."isHidden", false),
        coalesce(s."allowVotes", true), coalesce(s."allowComments", true), s.n - 1
      from account, board, rows from (
        jsonb_to_recordset(${input}::jsonb -> 'statuses') as (
          key text, category text, label text, "isHidden" boolean, "allowVotes" boolean, "allowComments" boolean
        )
      ) with ordinality as s(key, category, label, "isHidden", "allowVotes", "allowComments", n)
      order by s.n
    )`;
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
  { sql }: Sql,
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
  const held = options.capabilities ?? (Object.values(grants).includes('moderate') ? capabilities : []);
  const secret = makeSecret();
  const [token] = await sql<{ id: number }>(
    `with voter as (
      insert into voters (account_id) values ($1) returning id
    ), token as (
      insert into api_tokens (
        account_id, issuer_id, voter_id, name, capabilities, secret_hash, expires_at, expiry_notice_days, last_used_at
      )
      select $1, $2, voter.id, $3, $4, $5, $6, $7, $8 from voter returning id
    ), granted as (
      insert into api_token_boards (account_id, token_id, board_id, level)
      select $1, token.id, key::bigint, value from token, jsonb_each_text($9)
    )
    select id from token`,
    [
      world.accountId,
      options.issuerId ?? world.ownerId,
      options.name ?? 'A token',
      held,
      secret.hash,
      options.expiresAt,
      passedNoticeDays(options.expiresAt, new Date()),
      options.isUnused ? null : new Date(Date.now() + 24 * 60 * 60 * 1_000),
      JSON.stringify(grants),
    ],
  );
  if (!token) throw new Error('The token was not issued');
  return { token: formatToken({ id: token.id, secret: secret.text }), id: token.id };
}

/** Sets when an idea was last changed, also to an earlier time, which the database otherwise prevents. */
export async function setUpdatedAt({ sql }: Sql, ideaId: number, at: string): Promise<void> {
  await sql(`
    alter table ideas disable trigger ideas_advance_updated_at;
    update ideas set updated_at = '${at}' where id = ${ideaId};
    alter table ideas enable trigger ideas_advance_updated_at;
  `);
}

/** Inserts a comment by the owner, who follows the idea. */
export async function insertComment({ sql }: Sql, world: World, ideaId: number): Promise<number> {
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
  { sql }: Sql,
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
