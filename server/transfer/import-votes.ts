import { sql } from 'kysely';
import { callCarryVotes } from '../domain/merging/merge-idea.ts';
import type { RecordOf } from './archive.ts';
import { findRows, insertExternalIds } from './external-ids.ts';
import { lockIdeasOf, withIdeas } from './find-ideas.ts';
import { type ImportBatch, idsOf, type PlacedRecord, unknownRef } from './import-batch.ts';

/** Imports voters. A person who already has a voter in the account keeps this voter. */
export async function importVoters(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'voter'>>[],
): Promise<number> {
  const { db, options, refuse } = batch;
  const { accountId } = options;
  const known = await findRows(batch, 'voter', idsOf(records));
  const missing = records.filter(({ record }) => !known.has(record.id));
  const people = await findRows(
    batch,
    'person',
    missing.map(({ record }) => record.person),
  );
  const fresh = new Map<string, number | null>();
  for (const { place, record } of missing) {
    const userId = record.person === null ? null : people.get(record.person);
    if (userId === undefined) refuse(place, unknownRef('voter', 'person', record.person ?? ''));
    else fresh.set(record.id, userId);
  }
  if (fresh.size === 0) return 0;
  const userIds = [...new Set(fresh.values())].filter(id => id !== null);
  // Locks the voters, so that the erasure of a user waits for the external ids, and then removes them.
  const existing = await db
    .selectFrom('voters')
    .select(['id', 'user_id'])
    .where('account_id', '=', accountId)
    .where(w => w('user_id', '=', w.fn.any(w.val<(number | null)[]>(userIds))))
    .forKeyShare()
    .execute();
  const ofUser = new Map(existing.map(({ id, user_id }) => [user_id, id]));
  // Two people of the archive may be the same user. This user has only one voter.
  const withVoter = new Set(ofUser.keys());
  const added = [...fresh].filter(([, userId]) => {
    if (userId === null) return true;
    if (withVoter.has(userId)) return false;
    withVoter.add(userId);
    return true;
  });
  const ofRecord = new Map<string, number>();
  if (added.length > 0) {
    const inserted = await db
      .insertInto('voters')
      .columns(['account_id', 'user_id'])
      .expression(v =>
        v
          .selectFrom(
            sql<{ user_id: number | null }>`unnest(${added.map(([, userId]) => userId)}::bigint[])`.as<'u'>(
              sql`u(user_id)`,
            ),
          )
          .select(u => [u.val(accountId).as('account_id'), 'u.user_id']),
      )
      .returning('id')
      .execute();
    // The ids increase in the order of the records. So the next export has the votes in the same order.
    const ids = inserted.map(({ id }) => id).sort((one, other) => one - other);
    for (const [index, [externalId, userId]] of added.entries()) {
      const id = ids[index] ?? 0;
      ofRecord.set(externalId, id);
      if (userId !== null) ofUser.set(userId, id);
    }
  }
  const rows = [...fresh].map(
    ([externalId, userId]) => [externalId, ofRecord.get(externalId) ?? ofUser.get(userId) ?? 0] as const,
  );
  await insertExternalIds(db, accountId, 'voter', rows);
  return fresh.size;
}

const numberOf = { up: 1, down: -1, none: 0 } as const;

/**
 * Imports votes, and adds them to the tallies. An existing vote of the same voter stays as it is. But a vote of the
 * archive replaces a vote that a merge has copied, as a new vote of the person would.
 */
export async function importVotes(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'vote'>>[],
): Promise<number> {
  const { db, query, options, refuse } = batch;
  const { accountId } = options;
  const voters = await findRows(
    batch,
    'voter',
    records.map(({ record }) => record.voter),
  );
  const votes = new Map<string, { ideaId: number; voterId: number; value: number; createdAt: string }>();
  const inMerges = new Set<number>();
  for (const { place, record, idea } of await withIdeas(batch, records)) {
    const voterId = voters.get(record.voter);
    const vote = `${idea.id} ${voterId}`;
    if (voterId === undefined) refuse(place, unknownRef('vote', 'voter', record.voter));
    else if (!votes.has(vote)) {
      votes.set(vote, { ideaId: idea.id, voterId, value: numberOf[record.value], createdAt: record.created_at });
      if (idea.mergedIntoId !== null) inMerges.add(idea.id);
    }
  }
  if (votes.size === 0) return 0;
  const columns = [...votes.values()];
  const inserted = await db
    .insertInto('votes')
    .columns(['account_id', 'idea_id', 'voter_id', 'value', 'created_at'])
    .expression(v =>
      v
        .selectFrom(
          sql<{ idea_id: number; voter_id: number; value: -1 | 0 | 1; created_at: string }>`unnest(
            ${columns.map(({ ideaId }) => ideaId)}::bigint[], ${columns.map(({ voterId }) => voterId)}::bigint[],
            ${columns.map(({ value }) => value)}::smallint[], ${columns.map(({ createdAt }) => createdAt)}::timestamptz[]
          )`.as<'u'>(sql`u(idea_id, voter_id, value, created_at)`),
        )
        .select(u => [u.val(accountId).as('account_id'), 'u.idea_id', 'u.voter_id', 'u.value', 'u.created_at']),
    )
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'idea_id', 'voter_id'])
        .doUpdateSet(v => ({
          value: v.ref('excluded.value'),
          created_at: v.ref('excluded.created_at'),
          carried_from_id: null,
        }))
        .where('votes.carried_from_id', 'is not', null),
    )
    .returning(['idea_id', 'value'])
    .execute();
  await addToTallies(batch, inserted);
  const targets = await db
    .selectFrom('ideas')
    .select('merged_into_id')
    .distinct()
    .where('account_id', '=', accountId)
    .where(i =>
      i(
        'merged_into_id',
        '=',
        i.fn.any(i.val<(number | null)[]>([...new Set(inserted.map(({ idea_id }) => idea_id))])),
      ),
    )
    .execute();
  // The votes of merged ideas also count for the targets of the merges, so this loop recomputes the votes of these
  // ideas.
  for (const ideaId of new Set([...inMerges, ...targets.map(({ merged_into_id }) => merged_into_id ?? 0)])) {
    await lockTargets(batch, ideaId);
    await query(callCarryVotes, { accountId, ideaId });
  }
  return inserted.length;
}

async function addToTallies(
  { db, options: { accountId } }: ImportBatch,
  votes: readonly { idea_id: number; value: -1 | 0 | 1 }[],
): Promise<void> {
  const tallies = new Map<number, { up: number; down: number }>();
  for (const { idea_id, value } of votes) {
    const tally = tallies.get(idea_id) ?? { up: 0, down: 0 };
    if (value > 0) tally.up += 1;
    if (value < 0) tally.down += 1;
    tallies.set(idea_id, tally);
  }
  const values = [...tallies.values()];
  await db
    .updateTable('ideas as i')
    .from(
      sql<{ id: number; up: number; down: number }>`unnest(
        ${[...tallies.keys()]}::bigint[], ${values.map(({ up }) => up)}::int[], ${values.map(({ down }) => down)}::int[]
      )`.as<'n'>(sql`n(id, up, down)`),
    )
    .set(i => ({
      up_count: i('i.up_count', '+', i.ref('n.up')),
      down_count: i('i.down_count', '+', i.ref('n.down')),
    }))
    .where('i.account_id', '=', accountId)
    .whereRef('i.id', '=', 'n.id')
    .execute();
}

/**
 * Imports merges. A merge that nobody has undone copies the votes of the source to the target. The dates of the ideas
 * do not change.
 */
export async function importMerges(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'merge'>>[],
): Promise<number> {
  const known = await findRows(batch, 'merge', idsOf(records));
  let imported = 0;
  for (const one of records) {
    const id = known.has(one.record.id) ? undefined : await importMerge(batch, one);
    if (id === undefined) continue;
    imported += 1;
  }
  return imported;
}

async function importMerge(
  batch: ImportBatch,
  { place, record }: PlacedRecord<RecordOf<'merge'>>,
): Promise<number | undefined> {
  const { db, query, options, refuse } = batch;
  const { accountId } = options;
  const ideas = await lockIdeasOf(batch, [record.source, record.target]);
  const [source, target] = [ideas.get(record.source), ideas.get(record.target)];
  if (source === undefined) refuse(place, unknownRef('merge', 'source', record.source));
  else if (target === undefined) refuse(place, unknownRef('merge', 'target', record.target));
  if (!source || !target) return undefined;
  const isInForce = record.unmerged_at === null;
  if (source.boardId !== target.boardId || source.id === target.id) {
    refuse(place, 'merge: the source and the target must be two ideas of one board');
    return undefined;
  }
  if (isInForce && (source.moderationState !== 'published' || target.moderationState !== 'published')) {
    refuse(place, 'merge: the source and the target must be published');
    return undefined;
  }
  if (isInForce && source.mergedIntoId !== null) {
    refuse(place, 'merge: the source is already merged into another idea');
    return undefined;
  }
  if (isInForce && (await lockTargets(batch, target.id)).includes(source.id)) {
    refuse(place, 'merge: the target is already merged into the source');
    return undefined;
  }
  const { id } = await db
    .insertInto('merges')
    .values({
      account_id: accountId,
      source_id: source.id,
      target_id: target.id,
      merged_at: record.merged_at,
      unmerged_at: record.unmerged_at,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await insertExternalIds(db, accountId, 'merge', [[record.id, id]]);
  if (!isInForce) return id;
  await db
    .updateTable('ideas')
    .set({ merged_into_id: target.id })
    .where(i => i.and({ account_id: accountId, id: source.id }))
    .execute();
  await query(callCarryVotes, { accountId, ideaId: target.id });
  return id;
}

/**
 * Locks an idea and the ideas that it is merged into, because their tallies include the votes of the idea. Returns the
 * ids of all these ideas.
 */
async function lockTargets({ db, options: { accountId } }: ImportBatch, ideaId: number): Promise<number[]> {
  const ids: number[] = [];
  for (let next: number | null = ideaId; next !== null && !ids.includes(next); ) {
    ids.push(next);
    const idea: { merged_into_id: number | null } | undefined = await db
      .selectFrom('ideas as i')
      .select('i.merged_into_id')
      .where('i.account_id', '=', accountId)
      .where('i.id', '=', next)
      .forNoKeyUpdate('i')
      .executeTakeFirst();
    next = idea?.merged_into_id ?? null;
  }
  return ids;
}

export async function importFollowers(
  batch: ImportBatch,
  records: readonly PlacedRecord<RecordOf<'follower'>>[],
): Promise<number> {
  const { db, options, refuse } = batch;
  const { accountId } = options;
  const people = await findRows(
    batch,
    'person',
    records.map(({ record }) => record.person),
  );
  const followers = new Map<string, { account_id: number; idea_id: number; user_id: number; created_at: string }>();
  for (const { place, record, idea } of await withIdeas(batch, records)) {
    const userId = people.get(record.person);
    if (userId === undefined) refuse(place, unknownRef('follower', 'person', record.person));
    else {
      const row = { account_id: accountId, idea_id: idea.id, user_id: userId, created_at: record.created_at };
      if (!followers.has(`${idea.id} ${userId}`)) followers.set(`${idea.id} ${userId}`, row);
    }
  }
  if (followers.size === 0) return 0;
  const inserted = await db
    .insertInto('followers')
    .values([...followers.values()])
    .onConflict(conflict => conflict.doNothing())
    .returning('user_id')
    .execute();
  return inserted.length;
}
