import { randomBytes } from 'node:crypto';
import type { Transaction } from '../database/database.ts';
import { sql, text } from '../database/sql.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type Administration, administrationIn } from '../domain/administration.ts';
import { defaultStatuses } from '../domain/boards/edit-board.ts';
import { callBeginMerge, callCarryVotes } from '../domain/merging/merge-idea.ts';
import type { Passwords } from '../domain/sign-in/passwords.ts';
import { setPassword } from '../domain/sign-in/set-password.ts';
import { createToken } from '../domain/tokens/change-tokens.ts';
import { canonicalAddress } from '../domain/users/canonical-address.ts';
import { Account } from '../entities/account.ts';
import { Board, Status, Tag } from '../entities/board.ts';
import { Comment, Follower, Idea, IdeaTag, Vote, Voter } from '../entities/idea.ts';
import { Membership } from '../entities/membership.ts';
import { User } from '../entities/user.ts';
import { type DemoBoard, type DemoData, type DemoIdea, readDemoData } from './demo-data.ts';
import { seededRandom } from './seeded-random.ts';

/** The API tokens of the demo account and the password of its owner. The server shows these secrets only once. */
export interface DemoTokens {
  read: string;
  write: string;
  moderate: string;
  /** A token for both boards. Every request with this token must name a board. */
  allBoards: string;
  boardSlugs: string[];
  signIn: { email: string; password: string };
}

/**
 * If two servers start on the same empty database, this lock makes the second server wait, so that only the first
 * server creates the demo. The number of the lock is arbitrary.
 */
const lockDemo = sql('lock_demo', { arguments: {}, row: {} }, 'select pg_advisory_xact_lock(7301182)');
/** Turns off lock_timeout. Another server that loads the demo may hold the lock for longer than the timeout. */
const waitForLock = sql(
  'wait_for_lock',
  { arguments: {}, row: { set_config: text() } },
  `select set_config('lock_timeout', '0', true)`,
);

/**
 * Puts the demo account into an empty database, in one transaction. Returns undefined if the database already has an
 * account.
 */
export async function loadDemo({
  database,
  clock,
  audit,
  passwords,
}: Pick<ServerDependencies, 'database' | 'clock' | 'audit' | 'passwords'>): Promise<DemoTokens | undefined> {
  return database.transaction(async transaction => {
    await transaction.query(waitForLock, {});
    await transaction.query(lockDemo, {});
    const account = await transaction.db.selectFrom('accounts').select('id').limit(1).executeTakeFirst();
    if (account) return undefined;
    const admin = administrationIn(transaction, { audit, actor: { by: 'server' }, now: clock.now() });
    return new DemoLoad(transaction, admin, readDemoData()).run(passwords);
  });
}

/** The number of voters without a user account, like people who have left. Their votes make the tallies realistic. */
const formerVoters = 140;

const dayMs = 86_400_000;
const hourMs = 3_600_000;

class DemoLoad {
  readonly #transaction: Transaction;
  readonly #admin: Administration;
  readonly #data: DemoData;
  readonly #now: Date;
  readonly #users = new Map<string, number>();
  readonly #random = seededRandom(20_260_314);
  #accountId = 0;
  #voterIds: number[] = [];

  constructor(transaction: Transaction, admin: Administration, data: DemoData) {
    this.#transaction = transaction;
    this.#admin = admin;
    this.#data = data;
    this.#now = admin.now;
  }

  async run(passwords: Passwords): Promise<DemoTokens> {
    await this.#loadPeople();
    const boards: Board[] = [];
    for (const board of this.#data.boards) boards.push(await this.#loadBoard(board));
    return { ...(await this.#issueTokens(boards)), signIn: await this.#letOwnerIn(passwords) };
  }

  async #loadPeople() {
    const { em } = this.#transaction;
    const account = em.create(Account, { slug: this.#data.account.slug, name: this.#data.account.name });
    const users = this.#data.people.map(({ email, name }) =>
      em.create(User, { email, canonicalEmail: canonicalAddress(email), name, notificationEmail: email }),
    );
    await em.flush();
    this.#accountId = account.id;
    const accountId = account.id;
    const voters = Array.from({ length: formerVoters }, () => em.create(Voter, { accountId }));
    for (const [index, person] of this.#data.people.entries()) {
      const userId = users[index]?.id ?? 0;
      this.#users.set(person.key, userId);
      em.create(Membership, { accountId, userId, role: person.role });
      voters.push(em.create(Voter, { accountId, userId }));
    }
    await em.flush();
    this.#voterIds = voters.map(voter => voter.id);
  }

  async #loadBoard(data: DemoBoard): Promise<Board> {
    const { em } = this.#transaction;
    const accountId = this.#accountId;
    const board = em.create(Board, {
      accountId,
      slug: data.slug,
      name: data.name,
      description: data.description,
      preModeration: data.preModeration,
      isPublic: true,
    });
    await em.flush();
    const boardId = board.id;
    const registry = data.statuses === 'default' ? defaultStatuses : data.statuses;
    const statuses = registry.map((status, position) => em.create(Status, { ...status, accountId, boardId, position }));
    const tags = data.tags.map(tag => em.create(Tag, { ...tag, accountId, boardId }));
    await em.flush();
    const statusIds = new Map(statuses.map(({ key, id }) => [key, id]));
    const tagIds = new Map(tags.map(({ name, id }) => [name, id]));

    // The oldest ideas are created first, so that newer ideas have higher ids.
    const inOrder = [...data.ideas].sort((one, other) => other.daysAgo - one.daysAgo);
    const ideas = inOrder.map(idea => this.#createIdea(idea, boardId, statusIds.get(idea.status) ?? 0));
    await em.flush();
    for (const [index, idea] of inOrder.entries()) {
      const ideaId = ideas[index]?.id ?? 0;
      for (const name of idea.tags) em.create(IdeaTag, { ideaId, tagId: tagIds.get(name) ?? 0, accountId });
      this.#createDiscussion(idea, ideaId);
    }
    await em.flush();
    for (const [index, idea] of inOrder.entries()) await this.#vote(idea, ideas[index]?.id ?? 0);
    const byTitle = new Map(ideas.map(idea => [idea.title, idea]));
    for (const { title, mergedInto } of inOrder) {
      if (mergedInto !== undefined) await this.#merge(byTitle.get(title), byTitle.get(mergedInto));
    }
    return board;
  }

  #createIdea(idea: DemoIdea, boardId: number, statusId: number): Idea {
    const createdAt = new Date(this.#now.getTime() - idea.daysAgo * dayMs - Math.floor(this.#random() * 20 * hourMs));
    return this.#transaction.em.create(Idea, {
      accountId: this.#accountId,
      boardId,
      statusId,
      authorId: this.#users.get(idea.author) ?? 0,
      title: idea.title,
      body: idea.body,
      moderationState: idea.pending ? 'pending' : 'published',
      commentCount: idea.comments?.length ?? 0,
      createdAt,
      updatedAt: createdAt,
    });
  }

  #createDiscussion(idea: DemoIdea, ideaId: number) {
    const { em } = this.#transaction;
    const accountId = this.#accountId;
    const followers = new Set([idea.author]);
    const bornMs = this.#now.getTime() - idea.daysAgo * dayMs;
    for (const [index, { by, body }] of (idea.comments ?? []).entries()) {
      followers.add(by);
      const share = (index + 1) / ((idea.comments?.length ?? 0) + 1);
      const createdAt = new Date(bornMs + share * Math.min(idea.daysAgo, 30) * dayMs);
      em.create(Comment, { accountId, ideaId, authorId: this.#users.get(by) ?? 0, body, createdAt });
    }
    for (const key of followers) em.create(Follower, { ideaId, userId: this.#users.get(key) ?? 0, accountId });
  }

  async #vote(idea: DemoIdea, ideaId: number) {
    const { em } = this.#transaction;
    const accountId = this.#accountId;
    const voterIds = this.#voterIds.filter(() => this.#random() < idea.popularity);
    await em.insertMany(
      Vote,
      voterIds.map(voterId => ({ ideaId, voterId, accountId, value: this.#random() < 0.08 ? -1 : 1 })),
    );
    await this.#transaction.query(callCarryVotes, { accountId, ideaId });
  }

  async #merge(source: Idea | undefined, target: Idea | undefined) {
    if (!source || !target) throw new Error('An idea of the demo is merged into none');
    await this.#transaction.query(callBeginMerge, {
      accountId: this.#accountId,
      sourceId: source.id,
      targetId: target.id,
      now: this.#now,
    });
  }

  async #letOwnerIn(passwords: Passwords): Promise<DemoTokens['signIn']> {
    const { id, email } = this.#owner();
    const password = randomBytes(12).toString('base64url');
    await setPassword(this.#admin, id, await passwords.hash(password));
    return { email, password };
  }

  #owner(): { id: number; email: string } {
    const owner = this.#data.people.find(({ role }) => role === 'owner');
    return { id: this.#users.get(owner?.key ?? '') ?? 0, email: owner?.email ?? '' };
  }

  async #issueTokens(boards: Board[]): Promise<Omit<DemoTokens, 'signIn'>> {
    const { id: issuerId } = this.#owner();
    const [first] = boards;
    if (!first) throw new Error('The demo has a board');
    const issue = async (name: string, grants: { boardId: number; grant: 'read' | 'write' | 'moderate' }[]) => {
      const { plaintext } = await createToken(this.#admin, {
        accountId: this.#accountId,
        issuerId,
        name,
        boards: grants,
      });
      return plaintext;
    };
    return {
      read: await issue('Demo, read', [{ boardId: first.id, grant: 'read' }]),
      write: await issue('Demo, write', [{ boardId: first.id, grant: 'write' }]),
      moderate: await issue('Demo, moderate', [{ boardId: first.id, grant: 'moderate' }]),
      allBoards: await issue(
        'Demo, both boards',
        boards.map(({ id }) => ({ boardId: id, grant: 'moderate' })),
      ),
      boardSlugs: boards.map(({ slug }) => slug),
    };
  }
}
