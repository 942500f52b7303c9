import type { VoteValue } from '../../../contract/idea.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Operation, ReadOperation } from '../operation.ts';
import { buildSigner } from '../signer.ts';

/*
 * The server cannot prevent one person from voting with two e-mail addresses. But moderators see which votes on an idea
 * came from the same network. Moderators see the names of the people, but never the network.
 */

/** Returns the hash of a network, such as an IP address. */
export function hashNetwork(appKey: Uint8Array, network: string): Buffer {
  return buildSigner(appKey, 'vote network').macOf(network).subarray(0, 16);
}

/** The server stores the network of a vote for this number of days. */
const keptDays = 90;

interface NetworkOfVote {
  accountId: number;
  ideaId: number;
  voterId: number;
  network: Buffer;
  expiresAt: Date;
}

/**
 * Stores nothing if the voter no longer belongs to a user. The lock keeps the erasure of the user from removing the
 * networks until this network is committed.
 */
const upsertNetwork = query('upsert_vote_network', (db, $: Arguments<NetworkOfVote>) =>
  db
    .insertInto('vote_networks')
    .columns(['account_id', 'voter_id', 'idea_id', 'network', 'expires_at'])
    .expression(from =>
      from
        .selectFrom('voters as v')
        .select(['v.account_id', 'v.id', $.ideaId.as('idea_id'), $.network.as('network'), $.expiresAt.as('expires_at')])
        .where(v => v.and({ 'v.account_id': $.accountId, 'v.id': $.voterId }))
        .where('v.user_id', 'is not', null)
        .forKeyShare('v'),
    )
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'idea_id', 'voter_id'])
        .doUpdateSet(row => ({ network: row.ref('excluded.network'), expires_at: row.ref('excluded.expires_at') })),
    ),
);

const deleteNetwork = query('delete_vote_network', (db, $: Arguments<Omit<NetworkOfVote, 'network' | 'expiresAt'>>) =>
  db
    .deleteFrom('vote_networks')
    .where('account_id', '=', $.accountId)
    .where('idea_id', '=', $.ideaId)
    .where('voter_id', '=', $.voterId),
);

/** Stores the network of a new vote, or removes the network of a withdrawn vote. */
export async function keepNetwork(op: Operation, ideaId: number, value: VoteValue, network: Buffer): Promise<void> {
  const { accountId, voterId } = op.actor;
  if (value === 'none') {
    await op.query(deleteNetwork, { accountId, ideaId, voterId });
    return;
  }
  const expiresAt = new Date(op.now.getTime() + keptDays * 86_400_000);
  await op.query(upsertNetwork, { accountId, ideaId, voterId, network, expiresAt });
}

/**
 * The server looks for shared networks only among this number of an idea's newest votes. The limit keeps the search
 * fast.
 */
const maxVotes = 2_000;
const maxNetworks = 5;
const maxPeople = 20;

/** Votes of different people on one idea that were cast from the same network. */
export type SharedNetwork = RowOf<typeof selectSharedNetworks>;

const selectSharedNetworks = query(
  'select_shared_networks',
  (db, $: Arguments<{ accountId: number; ideaId: number }>) => {
    const newest = db
      .selectFrom('vote_networks as n')
      .select(['n.voter_id', 'n.network'])
      .where('n.account_id', '=', $.accountId)
      .where('n.idea_id', '=', $.ideaId)
      .orderBy('n.expires_at', 'desc')
      .limit(maxVotes);
    return db
      .selectFrom(newest.as('n'))
      .innerJoin('voters as v', join => join.on('v.account_id', '=', $.accountId).onRef('v.id', '=', 'n.voter_id'))
      .innerJoin('users as u', 'u.id', 'v.user_id')
      .select(n => [
        n.fn.countAll<number>().as('count'),
        n.fn.agg<string[]>('array_agg', ['u.name']).orderBy('u.id').as('names'),
      ])
      .groupBy('n.network')
      .having(n => n(n.fn.countAll(), '>', n.lit(1)))
      .orderBy('count', 'desc')
      .limit(maxNetworks);
  },
);

/**
 * Returns at most five networks from which several people voted on an idea. The network with the most people comes
 * first. Names at most 20 of the people in each network.
 */
export async function findSharedNetworks(op: ReadOperation, ideaId: number): Promise<SharedNetwork[]> {
  const shared = await op.query(selectSharedNetworks, { accountId: op.actor.accountId, ideaId });
  return shared.map(({ count, names }) => ({ count, names: names.slice(0, maxPeople) }));
}
