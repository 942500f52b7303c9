import { z } from 'zod';
import { mergeMeanings, raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples } from './idea.ts';
import { BodyId, PathId } from './identifiers.ts';
import { BoardQuery, c, IdempotencyHeaders, noBody, type RouteMetadata } from './routes.ts';

const metadata = {
  tag: 'Moderation',
  auth: 'board',
  grant: 'moderate',
  bucket: 'apitoken:write',
} as const;

/** The path parameters of the routes for merging. The example is the id of the duplicate idea. */
const SourcePath = { id: PathId.meta({ description: 'The id of the idea.', examples: [ideaExamples.merged.id] }) };

export const Merge = z
  .object({
    idea: Idea,
    target: Idea.nullable().describe('The target of the merge.'),
  })
  .meta({
    title: 'Merge',
    description: 'The two ideas after a merge or an unmerge. `target` is null if the idea to unmerge was not merged.',
    examples: [{ idea: ideaExamples.merged, target: ideaExamples.mergedInto }],
  });

export const mergeIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/merge',
  summary: 'Merge an idea into another',
  description:
    'Merges the idea into `target_id`. Both must be published, on the same board, and not merged. Votes are combined with one vote per voter. If a voter voted on both, the vote on the target counts. Merging the same pair again changes nothing.',
  pathParams: z.object(SourcePath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z
    .strictObject({ target_id: BodyId.describe('The id of the idea to merge into, also as a string of digits.') })
    .meta({
      title: 'MergeInput',
      description: 'The target of the merge.',
      examples: [{ target_id: ideaExamples.mergedInto.id }],
    }),
  responses: {
    200: Merge,
    ...raises(
      ...raisedBy.moderating,
      ...raisedBy.idempotent,
      'not_found',
      'idea_not_published',
      'idea_already_merged',
      'merge_into_self',
      'board_frozen',
    ),
  },
  metadata: {
    ...metadata,
    meanings: mergeMeanings,
    sdk: 'ideas.merge',
    tool: {
      name: 'merge_ideas',
      title: 'Merge an idea into another',
      description:
        'Merges a duplicate (id) into the idea that stays (target_id), usually the older one or the one with more votes. The votes on the duplicate then count for the target, once per voter. Read both with get_idea first: merge them only if they ask for the same thing. Both must be published and not merged. unmerge_idea undoes it.',
      resultFields: ['idea', 'target', 'id', 'merged_into_id', 'score', 'up_count', 'down_count'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const unmergeIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/unmerge',
  summary: 'Undo the merge of an idea',
  description: 'Undoes the merge of an idea and restores both tallies. Changes nothing if the idea is not merged.',
  pathParams: z.object(SourcePath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: noBody,
  responses: {
    200: Merge,
    ...raises(...raisedBy.moderating, ...raisedBy.idempotent, 'not_found', 'board_frozen'),
  },
  metadata: {
    ...metadata,
    sdk: 'ideas.unmerge',
    tool: {
      name: 'unmerge_idea',
      title: 'Undo the merge of an idea',
      description:
        'Undoes a merge: the duplicate returns to the lists with its own votes. Give the id of the duplicate. If it is not merged, nothing changes and target is null.',
      resultFields: ['idea', 'target', 'id', 'merged_into_id', 'score', 'up_count', 'down_count'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const mergeRoutes = { mergeIdea, unmergeIdea };
