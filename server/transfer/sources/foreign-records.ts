import { createHash } from 'node:crypto';
import { type StatusCategory, statusOfCategory } from '../../../contract/status.ts';
import { defaultStatuses } from '../../domain/boards/edit-board.ts';
import { capitalize } from '../../domain/capitalize.ts';
import type { GivenRecord } from '../archive.ts';
import type { Placed } from '../import-batch.ts';

/** The options of an import from another product. */
export interface SourceOptions {
  /** The beginning of the external ids, by default the name of the product. */
  prefix: string;
  /** The slug of the board for a product without boards. */
  board: string;
  /** Maps the names of the product's statuses, in lower case, to the keys of our statuses. */
  statuses: ReadonlyMap<string, string>;
  /** Maps the fields of an idea to the headers of the columns in a CSV file. */
  columns: ReadonlyMap<string, string>;
  /** The statuses of the account's existing boards, by the slug of the board. */
  registries: ReadonlyMap<string, readonly { key: string; category: StatusCategory; label: string }[]>;
  now: Date;
}

/** Reads the files of a product, and turns them into records of our archive. */
export type Source = (path: string, options: SourceOptions) => AsyncIterable<Placed>;

interface ForeignPerson {
  id?: unknown;
  name?: unknown;
  email?: unknown;
  role?: 'owner' | 'admin' | 'moderator' | undefined;
  isBlocked?: boolean;
}

interface ForeignIdea {
  id: string;
  board: string;
  status: unknown;
  /** The category of the status, if the product tells it. Otherwise the name of the status decides. */
  category?: StatusCategory | undefined;
  author: string | null;
  title: unknown;
  body: unknown;
  tags?: readonly { name: unknown; color?: unknown }[];
  moderationState?: 'pending' | 'published' | 'rejected';
  createdAt: unknown;
  updatedAt?: unknown;
  /** The number of votes of unknown voters. A negative number is a number of down votes. */
  votes?: unknown;
  downVotes?: unknown;
}

interface ForeignComment {
  id: string;
  idea: string;
  author: string | null;
  body: unknown;
  isInternal?: boolean;
  isOfficial?: boolean;
  createdAt: unknown;
  editedAt?: unknown;
}

/**
 * The maximum number of unknown voters of one idea. Above this number, the import refuses all votes of these voters,
 * because a wrong number in a file must not create millions of rows.
 */
const maxUnknownVotes = 100_000;

/**
 * Collects the records of a foreign file. It adds the boards, statuses and tags when an idea first needs them. It makes
 * the author of an idea or a comment a follower of the idea, as Idea-Board does.
 */
export class ForeignRecords {
  readonly #options: SourceOptions;
  readonly #seen = new Set<string>();
  /** The place and the digest of each idea and comment, by its type and id. */
  readonly #contents = new Map<string, { place: string; content: string }>();
  /** The name of the board that has a slug. */
  readonly #nameOfSlug = new Map<string, string>();
  #records: Placed[] = [];
  #comments: { at: string; comment: Placed }[] = [];

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /**
   * Returns the records since the last call. The comments are in the order of their times, because the pages show
   * comments in the order of the import.
   */
  take(): Placed[] {
    const comments = this.#comments.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));
    const records = [...this.#records, ...comments.map(({ comment }) => comment)];
    this.#records = [];
    this.#comments = [];
    return records;
  }

  id(...parts: unknown[]): string {
    return `${this.#options.prefix}:${parts.map(String).join(':')}`;
  }

  /**
   * Adds a person, and returns the person's id. Without an id in the product, the e-mail address or the name identifies
   * the person. Returns null for a person without any of them.
   */
  person(place: string, { id, name, email, role, isBlocked = false }: ForeignPerson): string | null {
    const address = textOf(email).includes('@') ? textOf(email).toLowerCase() : null;
    const label = textOf(name);
    const own = textOf(id) || (address ? digest(address) : label && `name-${digest(label)}`);
    if (own === '') return null;
    return this.#once(place, {
      type: 'person',
      id: this.id(own),
      name: [...(label || 'Somebody')].slice(0, 100).join(''),
      email: address,
      role: role ?? null,
      block: isBlocked ? { reason: '', created_at: this.#options.now.toISOString() } : null,
    });
  }

  /** Adds a board with its statuses, and returns its slug. */
  board(
    place: string,
    name: unknown,
    { slug, description, createdAt }: { slug?: unknown; description?: unknown; createdAt?: unknown } = {},
  ): string {
    const own = this.#slugOf(textOf(slug) || textOf(name) || this.#options.board, textOf(name));
    const time = createdAt ? timeOf(createdAt) : this.#options.now.toISOString();
    this.#once(place, {
      type: 'board',
      id: this.id(own),
      slug: own,
      name: textOf(name) || own,
      description: textOf(description),
      created_at: time,
      updated_at: time,
    });
    const statuses = this.#options.registries.get(own) ?? defaultStatuses;
    for (const [index, { key, category, label }] of statuses.entries()) {
      this.#once(place, {
        type: 'status',
        id: this.id(own, key),
        board: this.id(own),
        key,
        category,
        label,
        position: index + 1,
      });
    }
    return own;
  }

  /**
   * Returns the slug of a board. The slug ends with a digest of the name if the name has no Latin letter or digit, or if
   * a board with another name has the slug.
   */
  #slugOf(text: string, label: string): string {
    const name = (label || text).toLowerCase().replaceAll(/[\s_-]+/g, '-');
    const plain = text
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(0, 63)
      .replaceAll(/^-+|-+$/g, '');
    const isFree = plain !== '' && (this.#nameOfSlug.get(plain) ?? name) === name;
    const slug = isFree ? plain : `${plain.slice(0, 46) || 'board'}-${digest(name)}`;
    this.#nameOfSlug.set(slug, name);
    return slug;
  }

  /** Adds the only board of a product without boards, and returns its slug. */
  onlyBoard(place: string): string {
    const { board } = this.#options;
    return this.board(place, capitalize(board.replaceAll('-', ' ')), { slug: board });
  }

  /** Adds an idea with its author as a follower, and with the votes of unknown voters. */
  idea(place: string, idea: ForeignIdea): void {
    if (!this.#isNew(place, 'idea', idea)) return;
    const title = textOf(idea.title);
    const createdAt = timeOf(idea.createdAt);
    const tags = (idea.tags ?? []).flatMap(tag => this.#tag(place, idea.board, tag));
    this.#records.push({
      place,
      value: {
        type: 'idea',
        id: idea.id,
        board: this.id(idea.board),
        status: this.#status(place, idea.board, textOf(idea.status), idea.category),
        author: idea.author,
        title,
        // Uses the title as the body of an idea without a description. Idea-Board requires a body, but other products
        // do not.
        body: textOf(idea.body) || title,
        tags: [...new Set(tags)],
        moderation_state: idea.moderationState ?? 'published',
        created_at: createdAt,
        updated_at: idea.updatedAt ? timeOf(idea.updatedAt) : createdAt,
      } satisfies GivenRecord,
    });
    if (idea.author !== null) this.follower(place, idea.id, idea.author, createdAt);
    this.#unknownVotes(place, idea.id, idea.votes, createdAt, 'up');
    this.#unknownVotes(place, idea.id, idea.downVotes, createdAt, 'down');
  }

  /** Adds a comment. An internal comment, which only the team may read, becomes a note. */
  comment(place: string, comment: ForeignComment): void {
    if (!this.#isNew(place, 'comment', comment)) return;
    const { id, idea, author, body, isInternal = false, isOfficial = false, createdAt, editedAt } = comment;
    const created_at = timeOf(createdAt);
    const edited_at = editedAt ? timeOf(editedAt) : null;
    const text = { id, idea, author, body: textOf(body), created_at, edited_at };
    const value: GivenRecord = isInternal
      ? { type: 'note', ...text }
      : { type: 'comment', ...text, is_official: isOfficial };
    this.#comments.push({ at: created_at, comment: { place, value } });
    if (author !== null && !isInternal) this.follower(place, idea, author, created_at);
  }

  vote(place: string, idea: string, person: string, createdAt: unknown): void {
    this.#once(place, { type: 'voter', id: person, person });
    this.#add(place, { type: 'vote', idea, voter: person, value: 'up', created_at: timeOf(createdAt) });
  }

  /** Adds the vote of an anonymous voter. */
  anonymousVote(place: string, idea: string, voter: string, createdAt: unknown): void {
    this.#once(place, { type: 'voter', id: voter });
    this.#add(place, { type: 'vote', idea, voter, value: 'up', created_at: timeOf(createdAt) });
  }

  /** Adds votes of unknown voters. The same unknown voters vote on every idea, so that the import adds few voters. */
  #unknownVotes(place: string, idea: string, given: unknown, created_at: string, positive: 'up' | 'down'): void {
    const text = textOf(given);
    const isNumber = /^(-?\d+)?$/.test(text);
    const count = Math.abs(Number(text));
    if (!isNumber || count > maxUnknownVotes) {
      const rule = isNumber ? `at most ${maxUnknownVotes}` : 'a whole number without separators';
      this.refuse(place, `vote: the number of votes must be ${rule}: ${JSON.stringify(text)}`);
      return;
    }
    const value = text.startsWith('-') ? 'down' : positive;
    for (let number = 1; number <= count; number += 1) {
      const voter = this.#once(place, { type: 'voter', id: this.id(`unknown-${value}`, number) });
      this.#add(place, { type: 'vote', idea, voter, value, created_at });
    }
  }

  merge(place: string, source: string, target: string, mergedAt: unknown): void {
    this.#once(place, { type: 'merge', id: source, source, target, merged_at: timeOf(mergedAt) });
  }

  follower(place: string, idea: string, person: string, createdAt: unknown): void {
    this.#add(place, { type: 'follower', idea, person, created_at: timeOf(createdAt) });
  }

  /** Reports a problem of a place in the file instead of a record. */
  refuse(place: string, problem: string): void {
    this.#records.push({ place, value: null, problem });
  }

  #tag(place: string, board: string, { name, color }: { name: unknown; color?: unknown }): string[] {
    const label = textOf(name);
    if (label === '') return [];
    const hex = /^#?([0-9a-f]{6})$/i.exec(textOf(color))?.[1];
    return [
      this.#once(place, {
        type: 'tag',
        id: this.id(board, 'tag', digest(label.toLowerCase())),
        board: this.id(board),
        name: label,
        color: hex ? `#${hex.toLowerCase()}` : '#64748b',
      }),
    ];
  }

  /** Returns the id of the status for a status name of the product. */
  #status(place: string, board: string, name: string, given: StatusCategory | undefined): string {
    const { statuses, registries } = this.#options;
    const chosen = statuses.get(name.toLowerCase());
    if (chosen !== undefined) {
      const category = (registries.get(board) ?? defaultStatuses).find(({ key }) => key === chosen)?.category;
      // A new status comes after the other statuses of the board.
      return this.#once(place, {
        type: 'status',
        id: this.id(board, chosen),
        board: this.id(board),
        key: chosen,
        category: category ?? given ?? categoryOf(name),
        label: capitalize(chosen.replaceAll(/[_-]/g, ' ')),
        position: 100,
      });
    }
    const category = given ?? categoryOf(name);
    const registry = registries.get(board) ?? defaultStatuses;
    const nearest = [category, ...fallbacks[category], 'inbox'].flatMap(
      wanted => registry.find(one => one.category === wanted)?.key ?? [],
    )[0];
    return this.id(board, nearest ?? statusOfCategory[category]);
  }

  /** Returns whether an idea or a comment has a new id. Refuses a used id, except for an exact repetition. */
  #isNew(place: string, type: 'idea' | 'comment', given: ForeignIdea | ForeignComment): boolean {
    const content = digest(JSON.stringify(given));
    const earlier = this.#contents.get(`${type} ${given.id}`);
    if (!earlier) this.#contents.set(`${type} ${given.id}`, { place, content });
    else if (earlier.content !== content) {
      this.refuse(place, `${type}: ${earlier.place} has the same id, ${JSON.stringify(given.id)}, but other values`);
    }
    return !earlier;
  }

  /** Adds a record unless a record of the same type has the same id already. Returns the id. */
  #once(place: string, record: GivenRecord & { id: string }): string {
    const name = `${record.type} ${record.id}`;
    if (!this.#seen.has(name)) {
      this.#seen.add(name);
      this.#add(place, record);
    }
    return record.id;
  }

  #add(place: string, value: GivenRecord) {
    this.#records.push({ place, value });
  }
}

/** If a board has no status of a category, the import tries these categories instead, in this order. */
const fallbacks: Readonly<Record<StatusCategory, readonly StatusCategory[]>> = {
  inbox: [],
  planned: ['active'],
  active: ['planned'],
  completed: ['archived'],
  declined: ['archived', 'completed'],
  archived: ['declined', 'completed'],
};

/**
 * Words in the names of statuses, with their categories. The first match counts: "not planned" must not count as
 * planned.
 */
const words: readonly (readonly [RegExp, StatusCategory])[] = [
  [/archiv/, 'archived'],
  [/duplicate|declin|reject|won.?t|not[ _-]planned|denied|invalid|closed|outdated/, 'declined'],
  [/complet|done|ship|releas|live|implement|deliver|launch|deploy|fixed|resolved/, 'completed'],
  [/progress|start|active|develop|doing|build|working|beta|testing/, 'active'],
  [/plan|next|roadmap|accepted|approved|scheduled/, 'planned'],
];

/** Returns the category that fits the name of a status best: `inbox` for an unknown name. */
export function categoryOf(name: string): StatusCategory {
  return words.find(([pattern]) => pattern.test(name.toLowerCase()))?.[1] ?? 'inbox';
}

/**
 * Returns a text from a file without surrounding white space. Some products write a number if a text looks like one.
 * Returns an empty text for other values.
 */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
}

/**
 * Returns a time in RFC 3339. A time without a zone is in UTC. Returns an invalid time unchanged, so that the import
 * refuses its record.
 */
export function timeOf(value: unknown): string {
  const text = textOf(value);
  const [, day, second, zone] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/.exec(text) ?? [];
  const offset = zone === undefined || zone === 'UTC' ? 'Z' : /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone;
  const time = new Date(day === undefined ? text : `${day}T${second ?? '00:00'}${offset}`);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** Returns a short id for a text such as an e-mail address, so that the database does not contain the text itself. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
