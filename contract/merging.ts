import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples } from './idea.ts';
import { Id, PathId } from './identifiers.ts';
import { BoardQuery, c, IdempotencyHeaders, noBody, type RouteMetadata } from './routes.ts';

const metadata = {
  tag: 'Moderation',
  auth: 'board',
  grant: 'moderate',
  bucket: 'apitoken:write',
} as const;

/** The path of an idea that is, or was, merged into the one that the other examples are about. */
const SourcePath = { id: PathId.meta({ description: 'The id of the idea.', examples: [ideaExamples.merged.id] }) };

export const Merge = z
  .object({
    idea: Idea,
    target: Idea.nullable().describe('The idea into which it is, or was, merged.'),
  })
  .meta({
    title: 'Merge',
    description:
      'The two ideas of a merge or of its undoing, as they are afterwards. `target` is null when an unmerge had nothing to undo.',
    examples: [{ idea: ideaExamples.merged, target: ideaExamples.mergedInto }],
  });

export const mergeIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/merge',
  summary: 'Merge an idea into another',
  description:
    'Folds the idea into `target_id`. Both must be published, on the same board, and neither already merged. Votes are combined with one vote per voter; where a voter voted on both, the vote on the target wins. Merging the same pair again changes nothing.',
  pathParams: z.object(SourcePath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z.strictObject({ target_id: Id.describe('The id of the idea to merge into.') }).meta({
    title: 'MergeInput',
    description: 'Into which idea to merge.',
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
    tool: {
      name: 'merge_ideas',
      title: 'Merge an idea into another',
      description:
        'Folds a duplicate idea (id) into the one that stays (target_id). The duplicate leaves the lists and takes no more votes; its votes count for the target, once for each voter; webhooks and chats are told. Read both ideas with get_idea first and merge only what asks for the same thing: similar is not the same. Usually the older idea, or the one with more votes, stays. Both must be published, on the same board, and not merged already. unmerge_idea undoes it. Needs the moderate grant, and that the user who issued the token is a moderator. Counts as a write, also when nothing changes; writes are few in an hour (get_token says how many are left).',
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const unmergeIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/unmerge',
  summary: 'Undo the merge of an idea',
  description:
    'Undoes the merge of the idea and restores both tallies. Unmerging an idea that is not merged changes nothing.',
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
    tool: {
      name: 'unmerge_idea',
      title: 'Undo the merge of an idea',
      description:
        'Takes an idea out of the one that it was merged into: it is back in the lists with its own votes, and the other loses them. The id is that of the merged idea, not of the one that it was merged into. An idea that is not merged stays as it is, and target is null then. Needs the moderate grant, and that the user who issued the token is a moderator. Counts as a write, also when nothing changes; writes are few in an hour (get_token says how many are left).',
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const mergeRoutes = { mergeIdea, unmergeIdea };
