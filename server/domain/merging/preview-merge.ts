import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished } from '../ideas/lock-ideas.ts';
import { countsAsVote, type IdeaView, readIdea } from '../ideas/read-idea.ts';
import type { ReadOperation } from '../operation.ts';

export interface MergePreview {
  idea: IdeaView;
  target: IdeaView;
  combined: CombinedTally;
}

interface CombinedTally {
  up_count: number;
  down_count: number;
  score: number;
  /** How many voters of the source have a vote on the target, too: theirs there counts, and not the other. */
  voted_on_both: number;
}

/**
 * What carry_votes would count. An idea's votes are its own and those that were carried to it already, so that whatever
 * is merged into either is in. A vote withdrawn from the target, which is 0, keeps the source's out as any other does.
 */
const selectCombinedTally = statement<CombinedTally>(
  'select_combined_tally',
  `select t.up_count + carried.up_count as up_count, t.down_count + carried.down_count as down_count,
    t.score + carried.up_count - carried.down_count as score, carried.voted_on_both
  from ideas t cross join lateral (
    select
      (count(*) filter (where v.value = 1 and own.voter_id is null))::int as up_count,
      (count(*) filter (where v.value = -1 and own.voter_id is null))::int as down_count,
      (count(*) filter (where own.value <> 0))::int as voted_on_both
    from votes v
      left join votes own on own.idea_id = t.id and own.voter_id = v.voter_id and ${countsAsVote('own')}
    where v.idea_id = $1 and v.value <> 0 and ${countsAsVote('v')}
  ) carried
  where t.id = $2`,
);

/** What merging one idea into another would give, and refused as the merge would be (see mergeIdea). Nothing changes. */
export async function previewMerge(op: ReadOperation, sourceId: number, targetId: number): Promise<MergePreview> {
  if (sourceId === targetId) throw new DomainError('merge_into_self');
  const idea = await readIdea(op, sourceId);
  const target = await readIdea(op, targetId);
  if (!idea || !target) throw new DomainError('not_found');
  checkPublished(idea);
  checkPublished(target);
  const [combined] = await op.query(selectCombinedTally, [sourceId, targetId]);
  if (!combined) throw new DomainError('not_found');
  return { idea, target, combined };
}
