import { z } from 'zod';
import { commentExamples } from '../comments.ts';
import { ideaExamples } from '../idea.ts';
import { ideaListExample } from '../ideas.ts';
import type { contract, OperationId } from '../index.ts';
import { noteExamples } from '../notes.ts';
import { tallyExamples } from '../votes.ts';
import type { Json } from './json-schema.ts';

/** Examples by name. In the components of the OpenAPI document, the examples have the same names. */
type Examples<T = unknown> = Record<string, { summary: string; value: T }>;

type Responses<Op extends OperationId> = (typeof contract)[Op] extends { responses: infer R } ? R : never;
type Result<Op extends OperationId> =
  Responses<Op> extends { 200: z.ZodType<infer T> } | { 201: z.ZodType<infer T> } ? T : never;

const { created, pending, edited, discussed, untagged, planned, merged, unmerged } = ideaExamples;

/** Examples of results, for operations that need other examples than the one example of their schema. */
const results: { [Op in OperationId]?: Examples<Result<Op>> } = {
  listIdeas: {
    IdeaList: { summary: 'The first page of two', value: ideaListExample },
    ApprovalQueue: {
      summary: 'The approval queue',
      value: { data: [pending], page: 1, per_page: 20, has_more: false, next_cursor: null },
    },
  },
  getIdea: {
    Idea: { summary: 'An idea on a board.', value: discussed },
    MergedIdea: { summary: 'An idea that is merged into another', value: merged },
  },
  createIdea: {
    CreatedIdea: { summary: 'The idea is published', value: created },
    PendingIdea: { summary: 'The idea awaits approval', value: pending },
  },
  editIdea: { EditedIdea: { summary: 'The idea has a new body', value: edited } },
  editComment: { EditedComment: { summary: 'The comment has a new text', value: commentExamples.edited } },
  editNote: { EditedNote: { summary: 'The note has a new text', value: noteExamples.edited } },
  voteIdea: {
    VoteTally: { summary: 'After a vote for the idea', value: tallyExamples.up },
    WithdrawnVoteTally: { summary: 'After the vote was withdrawn', value: tallyExamples.none },
  },
  setIdeaStatus: { PlannedIdea: { summary: 'The idea is planned', value: planned } },
  removeIdeaTag: { UntaggedIdea: { summary: 'The idea no longer has the tag', value: untagged } },
  unmergeIdea: {
    UnmergedIdea: { summary: 'The idea is no longer merged', value: { idea: unmerged, target: discussed } },
    NothingUnmerged: { summary: 'The idea was not merged', value: { idea: discussed, target: null } },
  },
};

const requests: { [Op in OperationId]?: Examples } = {
  voteIdea: {
    VoteInput: { summary: 'A vote for the idea', value: { value: 'up' } },
    WithdrawnVoteInput: { summary: 'Remove the vote', value: { value: 'none' } },
  },
};

/**
 * Adds the examples of an operation's successful response to the components of the OpenAPI document. Returns references
 * to these examples.
 */
export function resultExamples(operationId: OperationId, schema: z.ZodType, components: Json): Json {
  return refer(results[operationId] ?? exampleOf(schema), components);
}

/**
 * Adds the examples of an operation's request body to the components of the OpenAPI document. Returns references to
 * these examples.
 */
export function requestExamples(operationId: OperationId, schema: z.ZodType, components: Json): Json {
  return refer(requests[operationId] ?? exampleOf(schema), components);
}

/** Returns the example of a schema. The title of the schema is the name of the example. */
export function exampleOf(schema: z.ZodType): Examples {
  const { title = '', description = '', examples = [] } = z.globalRegistry.get(schema) ?? {};
  return { [title]: { summary: description, value: (examples as unknown[])[0] } };
}

/** Adds examples to the components of the OpenAPI document. Returns references to these examples. */
export function refer(examples: Examples, components: Json): Json {
  for (const [name, example] of Object.entries(examples)) {
    components[name] ??= example;
    if (JSON.stringify(components[name]) !== JSON.stringify(example)) throw new Error(`Two examples are named ${name}`);
  }
  return Object.fromEntries(Object.keys(examples).map(name => [name, { $ref: `#/components/examples/${name}` }]));
}
