import { type Expression, type SqlBool, sql } from 'kysely';
import { mergeMeanings } from '../../../contract/errors.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished } from '../ideas/lock-ideas.ts';
import { countsAsVote, type IdeaView, readIdea } from '../ideas/read-idea.ts';
import type { ReadOperation } from '../operation.ts';

interface MergePreview {
  idea: IdeaView;
  target: IdeaView;
  combined: CombinedTally;
}

/**
 * `voted_on_both` is the number of voters who voted on both ideas. For these voters, only the vote on the target
 * counts.
 */
type CombinedTally = RowOf<typeof selectCombinedTally>;

/**
 * Computes the same tally as the database function carry_votes. The votes of an idea include the votes that earlier
 * merges copied to this idea. A withdrawn vote on the target has the value 0. Like any other vote, it replaces the
 * voter's vote on the source.
 */
const selectCombinedTally = query(
  'select_combined_tally',
  (db, $: Arguments<{ accountId: number; sourceId: number; targetId: number }>) =>
    db
      .selectFrom('ideas as t')
      .innerJoinLateral(
        from =>
          from
            .selectFrom('votes as v')
            .leftJoin('votes as own', join =>
              join
                .on('own.account_id', '=', $.accountId)
                .onRef('own.idea_id', '=', 't.id')
                .onRef('own.voter_id', '=', 'v.voter_id')
                .on(countsAsVote('own', $.accountId)),
            )
            .where(v => v.and({ 'v.account_id': $.accountId, 'v.idea_id': $.sourceId }))
            .where('v.value', '<>', 0)
            .where(countsAsVote('v', $.accountId))
            .select(v => [
              countOf(v('v.value', '=', 1).and('own.voter_id', 'is', null)).as('up_count'),
              countOf(v('v.value', '=', -1).and('own.voter_id', 'is', null)).as('down_count'),
              countOf(v('own.value', '<>', 0)).as('voted_on_both'),
            ])
            .as('carried'),
        join => join.onTrue(),
      )
      .where(t => t.and({ 't.account_id': $.accountId, 't.id': $.targetId }))
      .select(t => [
        t('t.up_count', '+', t.ref('carried.up_count')).as('up_count'),
        t('t.down_count', '+', t.ref('carried.down_count')).as('down_count'),
        t(t('t.score', '+', t.ref('carried.up_count')), '-', t.ref('carried.down_count')).as('score'),
        'carried.voted_on_both',
      ]),
);

function countOf(condition: Expression<SqlBool>) {
  return sql<number>`(count(*) filter (where ${condition}))::int`;
}

/**
 * Computes the tally that the target would have after a merge. Changes nothing. Throws if the ideas cannot be merged. A
 * frozen board is no reason to throw, although ideas on it cannot be merged.
 */
export async function previewMerge(op: ReadOperation, sourceId: number, targetId: number): Promise<MergePreview> {
  if (sourceId === targetId) throw new DomainError('merge_into_self');
  const idea = await readIdea(op, sourceId);
  const target = await readIdea(op, targetId);
  if (!idea || !target) throw new DomainError('not_found');
  checkPublished(idea, mergeMeanings);
  checkPublished(target, mergeMeanings);
  const [combined] = await op.query(selectCombinedTally, { accountId: op.actor.accountId, sourceId, targetId });
  if (!combined) throw new DomainError('not_found');
  return { idea, target, combined };
}
