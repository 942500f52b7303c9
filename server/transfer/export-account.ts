import { type Expression, type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Tables } from '../database/tables.ts';
import { hasOwnAddress } from '../domain/identities/own-address.ts';
import { presentTime } from '../domain/time.ts';
import { type ArchiveRecord, archiveEnd, archiveHeader, type Origin, type RecordType } from './archive.ts';
import { archiveId, peopleOf, readOrigin } from './external-ids.ts';

/** The number of rows that the export reads and writes at a time. */
const batchSize = 1_000;

type Db = Kysely<Tables>;

/** A batch of records, as lines of the archive. */
export interface Batch {
  type: RecordType;
  count: number;
  lines: string;
}

/**
 * Writes the archive of an account, batch by batch. All records show the state of one moment. An import into an empty
 * account keeps the order of the records, so that the next export writes equal bytes.
 *
 * The archive contains no secrets: no passwords, tokens, sessions, webhooks or chat connections.
 */
export async function exportAccount(
  database: Database,
  accountId: number,
  write: (batch: Batch | { lines: string }) => Promise<void>,
): Promise<void> {
  await database.transaction(async ({ db }) => {
    await sql`set transaction isolation level repeatable read, read only`.execute(db);
    // The transaction reads all rows. Without this setting, PostgreSQL would choose plans that return the first rows
    // early and take longer in total.
    await sql`set local cursor_tuple_fraction = 1`.execute(db);
    await write({ lines: `${JSON.stringify(archiveHeader)}\n` });
    const origin = { accountId, origin: await readOrigin(db, accountId) };
    let count = 0;
    for (const [type, records] of Object.entries(readers)) {
      for await (const batch of records(db, origin)) {
        count += batch.length;
        await write({
          type: type as RecordType,
          count: batch.length,
          lines: batch.map(record => `${JSON.stringify(record)}\n`).join(''),
        });
      }
    }
    await write({ lines: `${JSON.stringify(archiveEnd(count))}\n` });
  });
}

type Reader<Type extends RecordType> = (
  db: Db,
  origin: Origin,
) => AsyncIterable<Extract<ArchiveRecord, { type: Type }>[]>;

/** Reads the records of each type, in the order of the archive. */
const readers: { readonly [Type in RecordType]: Reader<Type> } = {
  person: (db, o) => {
    const { accountId } = o;
    const rows = db
      .selectFrom('users as u')
      .leftJoin('memberships as m', join => join.on('m.account_id', '=', accountId).onRef('m.user_id', '=', 'u.id'))
      .leftJoin('user_blocks as b', join => join.on('b.account_id', '=', accountId).onRef('b.user_id', '=', 'u.id'))
      .select(u => [archiveId(o, 'person', u.ref('u.id')).as('id'), 'u.name', 'u.email'])
      .select(['m.role', 'm.created_at as joined_at', 'b.reason', 'b.created_at as blocked_at'])
      .where('u.id', 'in', peopleOf(db, accountId))
      .where('u.is_placeholder', '=', false)
      // Sorts the people by their archive ids, because an import keeps these ids. Another server has different user
      // ids.
      .orderBy(u => sql`${archiveId(o, 'person', u.ref('u.id'))} collate "C"`);
    return read(db, rows, ({ id, name, email, role, joined_at, reason, blocked_at }) => ({
      type: 'person',
      id,
      name,
      email: email !== null && hasOwnAddress({ email }) ? email : null,
      role,
      joined_at: presentTime(joined_at),
      block: blocked_at === null ? null : { reason: reason ?? '', created_at: presentTime(blocked_at) },
    }));
  },

  board: (db, o) => {
    const rows = db
      .selectFrom('boards as b')
      .select(b => archiveId(o, 'board', b.ref('b.id')).as('id'))
      .select(['b.slug', 'b.name', 'b.description', 'b.is_frozen', 'b.pre_moderation', 'b.is_public', 'b.language'])
      .select(['b.submissions_open_at', 'b.submissions_close_at', 'b.voting_open_at', 'b.voting_close_at'])
      .select(['b.created_at', 'b.updated_at'])
      .where('b.account_id', '=', o.accountId)
      .orderBy('b.id');
    return read(db, rows, row => ({
      type: 'board',
      ...row,
      submissions_open_at: presentTime(row.submissions_open_at),
      submissions_close_at: presentTime(row.submissions_close_at),
      voting_open_at: presentTime(row.voting_open_at),
      voting_close_at: presentTime(row.voting_close_at),
      created_at: presentTime(row.created_at),
      updated_at: presentTime(row.updated_at),
    }));
  },

  status: (db, o) => {
    const rows = db
      .selectFrom('statuses as s')
      .select(s => [
        archiveId(o, 'status', s.ref('s.id')).as('id'),
        archiveId(o, 'board', s.ref('s.board_id')).as('board'),
      ])
      .select(['s.key', 's.category', 's.label', 's.is_hidden', 's.allow_votes', 's.allow_comments', 's.position'])
      .where('s.account_id', '=', o.accountId)
      .orderBy('s.board_id')
      .orderBy('s.position')
      .orderBy('s.id');
    return read(db, rows, row => ({ type: 'status', ...row }));
  },

  tag: (db, o) => {
    const rows = db
      .selectFrom('tags as t')
      .select(t => [
        archiveId(o, 'tag', t.ref('t.id')).as('id'),
        archiveId(o, 'board', t.ref('t.board_id')).as('board'),
      ])
      .select(['t.name', 't.color'])
      .where('t.account_id', '=', o.accountId)
      .orderBy('t.id');
    return read(db, rows, row => ({ type: 'tag', ...row }));
  },

  idea: (db, o) => {
    const rows = db
      .selectFrom('ideas as i')
      .select(i => [
        archiveId(o, 'idea', i.ref('i.id')).as('id'),
        archiveId(o, 'board', i.ref('i.board_id')).as('board'),
        archiveId(o, 'status', i.ref('i.status_id')).as('status'),
        authorId(o, i.ref('i.author_id')).as('author'),
      ])
      .select(['i.title', 'i.body'])
      .select(i => {
        const tags = i
          .selectFrom('idea_tags as it')
          .select(it => archiveId(o, 'tag', it.ref('it.tag_id')).as('tag'))
          .where('it.account_id', '=', o.accountId)
          .whereRef('it.idea_id', '=', 'i.id')
          .orderBy('it.tag_id');
        return sql<string[]>`array(${tags})`.as('tags');
      })
      .select(i => i.ref('i.moderation_state').$castTo<'pending' | 'published' | 'rejected'>().as('moderation_state'))
      .select(['i.rejection_reason', 'i.created_at', 'i.updated_at'])
      .where('i.account_id', '=', o.accountId)
      .where('i.moderation_state', '<>', 'deleted')
      .orderBy('i.id');
    return read(db, rows, row => ({
      type: 'idea',
      ...row,
      created_at: presentTime(row.created_at),
      updated_at: presentTime(row.updated_at),
    }));
  },

  comment: (db, o) => {
    const rows = db
      .selectFrom('comments as c')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'c.idea_id').on('i.account_id', '=', o.accountId))
      .select(c => [
        archiveId(o, 'comment', c.ref('c.id')).as('id'),
        archiveId(o, 'idea', c.ref('c.idea_id')).as('idea'),
        authorId(o, c.ref('c.author_id')).as('author'),
      ])
      .select(['c.body', 'c.is_official', 'c.created_at', 'c.edited_at'])
      .where('c.account_id', '=', o.accountId)
      .where('i.moderation_state', '<>', 'deleted')
      .orderBy('c.id');
    return read(db, rows, row => ({
      type: 'comment',
      ...row,
      created_at: presentTime(row.created_at),
      edited_at: presentTime(row.edited_at),
    }));
  },

  note: (db, o) => {
    const rows = db
      .selectFrom('idea_notes as n')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'n.idea_id').on('i.account_id', '=', o.accountId))
      .select(n => [
        archiveId(o, 'note', n.ref('n.id')).as('id'),
        archiveId(o, 'idea', n.ref('n.idea_id')).as('idea'),
        authorId(o, n.ref('n.author_id')).as('author'),
      ])
      .select(['n.body', 'n.created_at', 'n.edited_at'])
      .where('n.account_id', '=', o.accountId)
      .where('i.moderation_state', '<>', 'deleted')
      .orderBy('n.id');
    return read(db, rows, row => ({
      type: 'note',
      ...row,
      created_at: presentTime(row.created_at),
      edited_at: presentTime(row.edited_at),
    }));
  },

  voter: (db, o) => {
    const rows = db
      .selectFrom('voters as w')
      .select(w => [
        archiveId(o, 'voter', w.ref('w.id')).as('id'),
        w
          .case()
          .when('w.user_id', 'is not', null)
          .then(archiveId(o, 'person', w.ref('w.user_id')))
          .end()
          .as('person'),
      ])
      .where('w.account_id', '=', o.accountId)
      .where(w => {
        const votes = w.selectFrom('votes as v').where('v.account_id', '=', o.accountId);
        return w.exists(votes.whereRef('v.voter_id', '=', 'w.id').where('v.carried_from_id', 'is', null));
      })
      .orderBy('w.id');
    return read(db, rows, row => ({ type: 'voter', ...row }));
  },

  // Leaves out the votes that merges have copied, because the import copies them again.
  vote: (db, o) => {
    const rows = db
      .selectFrom('votes as v')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'v.idea_id').on('i.account_id', '=', o.accountId))
      .select(v => [
        archiveId(o, 'idea', v.ref('v.idea_id')).as('idea'),
        archiveId(o, 'voter', v.ref('v.voter_id')).as('voter'),
      ])
      .select(['v.value', 'v.created_at'])
      .where('v.account_id', '=', o.accountId)
      .where('v.carried_from_id', 'is', null)
      .where('i.moderation_state', '<>', 'deleted')
      .orderBy('v.idea_id')
      .orderBy('v.voter_id');
    return read(db, rows, ({ idea, voter, value, created_at }) => ({
      type: 'vote',
      idea,
      voter,
      value: value === 0 ? 'none' : value > 0 ? 'up' : 'down',
      created_at: presentTime(created_at),
    }));
  },

  merge: (db, o) => {
    const rows = db
      .selectFrom('merges as m')
      .innerJoin('ideas as s', join => join.onRef('s.id', '=', 'm.source_id').on('s.account_id', '=', o.accountId))
      .innerJoin('ideas as t', join => join.onRef('t.id', '=', 'm.target_id').on('t.account_id', '=', o.accountId))
      .select(m => [
        archiveId(o, 'merge', m.ref('m.id')).as('id'),
        archiveId(o, 'idea', m.ref('m.source_id')).as('source'),
        archiveId(o, 'idea', m.ref('m.target_id')).as('target'),
      ])
      .select(['m.merged_at', 'm.unmerged_at'])
      .where('m.account_id', '=', o.accountId)
      .where('s.moderation_state', '<>', 'deleted')
      .where('t.moderation_state', '<>', 'deleted')
      .orderBy('m.id');
    return read(db, rows, row => ({
      type: 'merge',
      ...row,
      merged_at: presentTime(row.merged_at),
      unmerged_at: presentTime(row.unmerged_at),
    }));
  },

  follower: (db, o) => {
    const rows = db
      .selectFrom('followers as f')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'f.idea_id').on('i.account_id', '=', o.accountId))
      .select(f => [
        archiveId(o, 'idea', f.ref('f.idea_id')).as('idea'),
        archiveId(o, 'person', f.ref('f.user_id')).as('person'),
      ])
      .select('f.created_at')
      .where('f.account_id', '=', o.accountId)
      .where('i.moderation_state', '<>', 'deleted')
      .orderBy('f.idea_id')
      .orderBy(f => sql`${archiveId(o, 'person', f.ref('f.user_id'))} collate "C"`);
    return read(db, rows, row => ({ type: 'follower', ...row, created_at: presentTime(row.created_at) }));
  },
};

/** The archive id of an author, or null for the placeholder user, who stands for all erased users. */
function authorId(origin: Origin, userId: Expression<number>) {
  return sql<string | null>`case when ${userId} <> coalesce((select p.id from users p where p.is_placeholder), 0)
    then ${archiveId(origin, 'person', userId)} end`;
}

/** Reads the rows of a query through a cursor, batch by batch. */
async function* read<Row, One>(
  db: Db,
  rows: SelectQueryBuilder<Tables, never, Row>,
  present: (row: Row) => One,
): AsyncIterable<One[]> {
  await sql`declare archive_rows no scroll cursor for ${rows}`.execute(db);
  for (;;) {
    const batch = await sql<Row>`fetch ${sql.lit(batchSize)} from archive_rows`.execute(db);
    if (batch.rows.length > 0) yield batch.rows.map(present);
    if (batch.rows.length < batchSize) break;
  }
  await sql`close archive_rows`.execute(db);
}
