import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { countsAsVote } from './read-idea.ts';

const maxNamed = 10;

/**
 * Compares the vote tallies of the newest ideas, or of all ideas, with the stored votes. Returns the ids of some ideas
 * with a wrong tally.
 */
export function compareTallies(db: Kysely<Tables>, newestCount?: number) {
  const newest = db
    .selectFrom('ideas as i')
    .innerJoin('accounts as a', 'a.id', 'i.account_id')
    .select(['i.id', 'i.account_id', 'i.up_count', 'i.down_count'])
    // Skips accounts whose erasure was interrupted, because the ideas of such an account may have lost votes.
    .where('a.erasure_began_at', 'is', null)
    .$if(newestCount !== undefined, ideas => ideas.orderBy('i.id', 'desc').limit(newestCount ?? 0));
  const compared = db
    .selectFrom(newest.as('i'))
    .innerJoinLateral(
      from =>
        from
          .selectFrom('votes as v')
          .whereRef('v.account_id', '=', 'i.account_id')
          .whereRef('v.idea_id', '=', 'i.id')
          .where(v => countsAsVote('v', v.ref('i.account_id')))
          .select(({ fn }) => [
            fn.countAll<number>().filterWhere('v.value', '=', 1).as('up_count'),
            fn.countAll<number>().filterWhere('v.value', '=', -1).as('down_count'),
          ])
          .as('counted'),
      join => join.onTrue(),
    )
    .select(i => [
      'i.id',
      i
        .or([i('i.up_count', '<>', i.ref('counted.up_count')), i('i.down_count', '<>', i.ref('counted.down_count'))])
        .as('is_drifted'),
    ]);
  const named = sql<string[]>`(array_agg(c.id order by c.id) filter (where c.is_drifted))[1:${sql.lit(maxNamed)}]`;
  return db
    .selectFrom(compared.as('c'))
    .select(({ fn }) => [
      fn.countAll<number>().as('checked'),
      fn.countAll<number>().filterWhere('c.is_drifted', '=', true).as('drifted'),
      fn.coalesce(named, sql<string[]>`'{}'`).as('ids'),
    ])
    .executeTakeFirstOrThrow();
}
