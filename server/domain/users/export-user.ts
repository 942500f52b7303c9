import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { moderatingRoles } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';
import { isBlocked } from '../members/authority.ts';
import { presentTime } from '../time.ts';

/**
 * The export of a person's own data, from all accounts, as one JSON document. docs/administration.md describes the
 * format of the document.
 *
 * The document contains the person's own texts and choices, and the reasons for rejected ideas, because moderators
 * wrote these reasons to the person. The document contains no secrets. For an idea of somebody else, the document
 * contains only the idea's id, because the person may have lost access to the board.
 *
 * The server reads long lists in batches, and writes the document while it sends the document. The statements search
 * all accounts, because the person may have rows in all accounts.
 */

/** Increase this number when a field is removed or changes its meaning. */
const formatVersion = 1;

/**
 * The maximum number of rows of one list that are in memory at the same time. The limit saves memory, because an idea
 * can have 10,000 characters.
 */
const batchSize = 200;

type Db = Kysely<Tables>;

interface Section {
  /** The database tables that this part of the export reads. */
  tables: readonly (keyof Tables)[];
  read(db: Db, userId: number): AsyncIterable<object[]>;
}

/** The lists of the exported document. The key of each list is its name in the document. */
export const exportSections: Readonly<Record<string, Section>> = {
  sign_in_methods: {
    tables: ['sign_in_methods'],
    read: once((db, userId) =>
      db.selectFrom('sign_in_methods').select(['kind', 'created_at', 'updated_at']).where('user_id', '=', userId),
    ),
  },
  second_factors: {
    tables: ['second_factors'],
    read: once((db, userId) => db.selectFrom('second_factors').select('created_at').where('user_id', '=', userId)),
  },
  sessions: {
    tables: ['sessions'],
    read: once((db, userId) =>
      db
        .selectFrom('sessions')
        .select(['created_at', 'last_seen_at', 'expires_at'])
        .where('user_id', '=', userId)
        .orderBy('created_at'),
    ),
  },
  identities: {
    tables: ['identities'],
    read: once((db, userId) =>
      db
        .selectFrom('identities as i')
        .innerJoin('accounts as a', 'a.id', 'i.account_id')
        .leftJoin('identity_providers as p', join =>
          join.onRef('p.account_id', '=', 'i.account_id').onRef('p.id', '=', 'i.provider_id'),
        )
        .select(['a.slug as account', 'p.name as provider', 'p.issuer', 'i.subject', 'i.address'])
        .select(['i.created_at', 'i.last_used_at'])
        .where('i.user_id', '=', userId)
        .orderBy('i.created_at'),
    ),
  },
  memberships: {
    tables: ['memberships'],
    read: once((db, userId) =>
      db
        .selectFrom('memberships as m')
        .innerJoin('accounts as a', 'a.id', 'm.account_id')
        .select(['a.slug as account', 'a.name as account_name', 'm.role', 'm.created_at'])
        .where('m.user_id', '=', userId)
        .orderBy('a.id'),
    ),
  },
  blocks: {
    tables: ['user_blocks'],
    // Leaves out the reason of a block, because it is a note for other moderators.
    read: once((db, userId) =>
      db
        .selectFrom('user_blocks as b')
        .innerJoin('accounts as a', 'a.id', 'b.account_id')
        .select(['a.slug as account', 'b.created_at'])
        .where('b.user_id', '=', userId)
        .orderBy('a.id'),
    ),
  },
  invitations_sent: {
    tables: ['invitations'],
    read: once((db, userId) =>
      db
        .selectFrom('invitations as i')
        .innerJoin('accounts as a', 'a.id', 'i.account_id')
        .select(['a.slug as account', 'i.email', 'i.role', 'i.created_at', 'i.expires_at'])
        .where('i.inviter_id', '=', userId)
        .orderBy('i.id'),
    ),
  },
  tokens: {
    tables: ['api_tokens', 'api_token_boards'],
    read: inBatches(['t.id'], (db, userId) =>
      db
        .selectFrom('api_tokens as t')
        .innerJoin('accounts as a', 'a.id', 't.account_id')
        .select(['t.id', 'a.slug as account', 't.kind', 't.name', 't.capabilities'])
        .select(['t.created_at', 't.last_used_at', 't.last_used_network', 't.last_used_client'])
        .select(['t.allowed_networks', 't.expires_at', 't.revoked_at'])
        .select(t =>
          jsonArrayFrom(
            t
              .selectFrom('api_token_boards as g')
              .innerJoin('boards as b', join =>
                join.onRef('b.id', '=', 'g.board_id').onRef('b.account_id', '=', 'g.account_id'),
              )
              .select(['b.slug as board', 'g.level as grant'])
              .whereRef('g.account_id', '=', 't.account_id')
              .whereRef('g.token_id', '=', 't.id')
              .orderBy('b.id'),
          ).as('boards'),
        )
        .where('t.issuer_id', '=', userId),
    ),
  },
  ideas: {
    tables: ['ideas'],
    read: inBatches(['i.board_id', 'i.id'], (db, userId) =>
      db
        .selectFrom('ideas as i')
        .innerJoin('accounts as a', 'a.id', 'i.account_id')
        .innerJoin('boards as b', join =>
          join.onRef('b.id', '=', 'i.board_id').onRef('b.account_id', '=', 'i.account_id'),
        )
        .innerJoin('statuses as s', join =>
          join.onRef('s.id', '=', 'i.status_id').onRef('s.account_id', '=', 'i.account_id'),
        )
        .select(['i.id', 'a.slug as account', 'i.board_id', 'b.slug as board', 'i.title', 'i.body'])
        .select(['s.key as status_key', 'i.moderation_state', 'i.rejection_reason'])
        .select(['i.up_count', 'i.down_count', 'i.comment_count', 'i.merged_into_id', 'i.created_at', 'i.updated_at'])
        .where('i.author_id', '=', userId)
        .where('i.moderation_state', '<>', 'deleted'),
    ),
  },
  comments: {
    tables: ['comments'],
    read: inBatches(['c.id'], (db, userId) =>
      db
        .selectFrom('comments as c')
        .innerJoin('accounts as a', 'a.id', 'c.account_id')
        .select(['c.id', 'a.slug as account', 'c.idea_id', 'c.body', 'c.created_at', 'c.edited_at', 'c.is_official'])
        .where('c.author_id', '=', userId),
    ),
  },
  // Leaves out the notes in accounts where the person is no moderator now or is blocked, because other moderators may have
  // edited them.
  notes: {
    tables: ['idea_notes'],
    read: inBatches(['n.id'], (db, userId) =>
      db
        .selectFrom('idea_notes as n')
        .innerJoin('accounts as a', 'a.id', 'n.account_id')
        .innerJoin('memberships as m', join =>
          join.onRef('m.account_id', '=', 'n.account_id').onRef('m.user_id', '=', 'n.author_id'),
        )
        .select(['n.id', 'a.slug as account', 'n.idea_id', 'n.body', 'n.created_at', 'n.edited_at'])
        .where('n.author_id', '=', userId)
        .where('m.role', 'in', moderatingRoles)
        .where(n => n.not(isBlocked(n.ref('n.account_id'), n.ref('n.author_id')))),
    ),
  },
  votes: { tables: ['voters', 'votes'], read: readVotes },
  follows: {
    tables: ['followers'],
    read: inBatches(['f.idea_id'], (db, userId) =>
      db
        .selectFrom('followers as f')
        .innerJoin('accounts as a', 'a.id', 'f.account_id')
        .select(['a.slug as account', 'f.idea_id', 'f.created_at'])
        .where('f.user_id', '=', userId),
    ),
  },
  // Leaves out the texts that contain the mentions, because other people wrote them.
  mentions: {
    tables: ['mentions'],
    read: inBatches(['m.id'], (db, userId) =>
      db
        .selectFrom('mentions as m')
        .innerJoin('accounts as a', 'a.id', 'm.account_id')
        .select(['m.id', 'a.slug as account', 'm.idea_id', 'm.comment_id', 'm.created_at'])
        .where('m.user_id', '=', userId),
    ),
  },
  notifications: {
    tables: ['notifications'],
    read: inBatches(['n.id'], (db, userId) =>
      db
        .selectFrom('notifications as n')
        .innerJoin('accounts as a', 'a.id', 'n.account_id')
        .leftJoin('events as e', join =>
          join.onRef('e.id', '=', 'n.event_id').onRef('e.account_id', '=', 'n.account_id'),
        )
        .select(['n.id', 'a.slug as account', 'n.kind', 'e.idea_id', 'n.created_at', 'n.read_at', 'n.mailed_at'])
        .where('n.user_id', '=', userId),
    ),
  },
};

/** The tables that have rows about people but are not in the export, each with the reason. */
export const notExported: Partial<Record<keyof Tables, string>> = {
  event_waits: 'A request that waits for events has a row only for the time of the request.',
  events: 'An event repeats a change of an idea, a comment or a vote, and is deleted after some time.',
  external_ids:
    'The ids are those of an import by the operator. The lists have the ideas, comments and notes themselves.',
  idempotency_keys: 'A stored response repeats a change by a token of the person, and is deleted after a day.',
  oauth_records: 'The records contain secrets of OAuth. The list of tokens has the access that the person gave.',
  password_links: 'A link is a secret that is valid for a short time.',
  pictures: 'The profile has the path of the picture.',
  recovery_codes: 'The codes are secrets, and the server keeps only their hashes.',
  sign_in_challenges: 'A sign-in that waits for a code is valid for a short time.',
  sign_in_links: 'A link is a secret that is valid for a short time.',
  token_usage: 'The counts describe the programs that use a token, and are deleted after 90 days.',
  vote_networks: 'The export has the votes. A network is only a hash, and is deleted after some time.',
  webhook_endpoints: 'A webhook belongs to the account, also if a token of the person created it.',
};

/** Reads the person's own votes, and the votes of the tokens that the person issued. */
async function* readVotes(db: Db, userId: number): AsyncIterable<object[]> {
  const ownVoters = db
    .selectFrom('voters')
    .select(['account_id', 'id as voter_id'])
    .select(v => v.cast<number | null>(v.lit(null), 'bigint').as('token_id'))
    .where('user_id', '=', userId);
  const tokenVoters = db
    .selectFrom('api_tokens')
    .select(['account_id', 'voter_id', 'id as token_id'])
    .where('issuer_id', '=', userId);
  for (const { account_id, voter_id, token_id } of await ownVoters.unionAll(tokenVoters).execute()) {
    const votesOfVoter = inBatches(['v.idea_id'], () =>
      db
        .selectFrom('votes as v')
        .innerJoin('accounts as a', 'a.id', 'v.account_id')
        .select(['a.slug as account', 'v.idea_id', 'v.value', 'v.carried_from_id', 'v.created_at'])
        .where(v => v.and({ 'v.account_id': account_id, 'v.voter_id': voter_id })),
    );
    for await (const votes of votesOfVoter(db, userId)) {
      yield votes.map(vote => ({
        ...vote,
        token_id,
        value: vote.value === 0 ? 'none' : vote.value > 0 ? 'up' : 'down',
      }));
    }
  }
}

type Query<Row> = SelectQueryBuilder<Tables, keyof Tables, Row>;

/** Reads a whole list with one statement. Use this function only for a list that is short for every person. */
function once(select: (db: Db, userId: number) => { execute(): Promise<object[]> }): Section['read'] {
  return async function* (db, userId) {
    yield await select(db, userId).execute();
  };
}

/** Reads a list batch by batch, in the order of the key columns. The list must select these columns. */
function inBatches<Row extends object>(
  key: readonly [`${string}.${string}`, ...`${string}.${string}`[]],
  select: (db: Db, userId: number) => { execute(): Promise<Row[]> },
): (db: Db, userId: number) => AsyncIterable<Row[]> {
  return async function* (db, userId) {
    const columns = key.map(column => sql.ref(column));
    const names = key.map(column => column.slice(column.indexOf('.') + 1)) as (keyof Row)[];
    for (let after: unknown[] = key.map(() => 0); ; ) {
      const query = (select(db, userId) as unknown as Query<Row>)
        .where(sql<boolean>`(${sql.join(columns)}) > (${sql.join(after)})`)
        .limit(batchSize);
      const rows = await columns.reduce((sorted, column) => sorted.orderBy(column), query).execute();
      if (rows.length > 0) yield rows;
      const last = rows.at(-1);
      if (!last || rows.length < batchSize) return;
      after = names.map(name => last[name]);
    }
  };
}

/**
 * Writes the document piece by piece. The rows are read one after the other, so the document does not show the state of
 * a single moment.
 */
export async function* exportUser({ db }: QueryBuilding, userId: number, now: Date): AsyncIterable<string> {
  const profile = await db
    .selectFrom('users')
    .select([
      'id',
      'name',
      'email',
      'notification_email',
      'wants_mentions',
      'mail_frequency',
      'avatar_url',
      'language',
      'is_operator',
    ])
    .select(['created_at', 'deletion_requested_at'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow();
  const start = { format: 'idea-board-user-data', version: formatVersion, exported_at: now.toISOString() };
  yield `${write({ ...start, profile }).slice(0, -1)}`;
  for (const [name, { read }] of Object.entries(exportSections)) {
    yield `,\n${JSON.stringify(name)}:[`;
    let separator = '\n';
    for await (const rows of read(db, userId)) {
      if (rows.length === 0) continue;
      yield separator + rows.map(write).join(',\n');
      separator = ',\n';
    }
    yield ']';
  }
  yield '}\n';
}

/** Writes times as the API does. The columns with times end in `_at`. */
function write(row: object): string {
  return JSON.stringify(row, (key, value) => (key.endsWith('_at') && value !== null ? presentTime(value) : value));
}

/** Records that a person downloads their data. */
export function recordExport(admin: Administration, userId: number) {
  admin.audit.record('user.data_exported', { user_id: userId });
}
