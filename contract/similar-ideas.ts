import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples } from './idea.ts';
import { excerptLength, leastSimilarity, maxSimilarIdeas, nearDuplicateSimilarity } from './limits.ts';
import { queryInteger } from './pagination.ts';
import { BoardParameter, ConditionalHeaders, c, notModified, type RouteMetadata } from './routes.ts';
import { line, text } from './text.ts';

const similarExample = { ...ideaExamples.discussed, similarity: 0.714 };

export const SimilarIdea = Idea.extend({
  similarity: z
    .number()
    .min(leastSimilarity)
    .max(1)
    .describe(
      `How similar the idea is, from ${leastSimilarity} (some words in common) to 1 (the same words in both titles). An idea with at least ${nearDuplicateSimilarity} is a near-duplicate.`,
    ),
}).meta({
  title: 'SimilarIdea',
  description: 'An idea with its similarity to a new idea or to another idea.',
  examples: [similarExample],
});

export const SimilarIdeaList = z
  .object({ data: z.array(SimilarIdea).describe('The similar ideas, the most similar first.') })
  .meta({
    title: 'SimilarIdeaList',
    description: `A list of at most ${maxSimilarIdeas} similar ideas.`,
    examples: [{ data: [similarExample] }],
  });

export const findSimilarIdeas = c.query({
  method: 'GET',
  path: '/api/v1/ideas/similar',
  summary: 'Find similar ideas',
  description: `Returns at most ${maxSimilarIdeas} published ideas of the board that are similar to a new idea or to an existing idea. For a new idea, give \`title\` and optionally \`body\`. For an existing idea, give \`of\`. The search ignores typing errors and the order of words. It compares the stems of words in the language of the board, and it does not translate. Leaves out ideas in hidden statuses. If a merged idea is similar, returns the target of the merge.`,
  query: z
    .strictObject({
      ...BoardParameter,
      title: line(1, 200)
        .optional()
        .describe('The title of a new idea.')
        .meta({ examples: ['CSV export of a board'] }),
      body: text(0, 1_000)
        .optional()
        .describe('The first 1,000 characters of the new body. Needs `title`.')
        .meta({ examples: ['I need a spreadsheet.'] }),
      // The parameter `of` has no example. An example request with both `title` and `of` would be invalid.
      of: queryInteger(1, Number.MAX_SAFE_INTEGER)
        .optional()
        .describe('The id of an existing idea, instead of `title`.'),
    })
    .refine(({ title, of }) => (title === undefined) !== (of === undefined), {
      error: 'Give either title or of',
      path: ['title'],
    })
    .refine(({ body, of }) => body === undefined || of === undefined, {
      error: 'Cannot be combined with of',
      path: ['body'],
    }),
  headers: ConditionalHeaders,
  responses: { 200: SimilarIdeaList, ...notModified, ...raises(...raisedBy.onBoard, 'not_found') },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    sdk: 'ideas.similar',
    tool: {
      name: 'find_similar_ideas',
      title: 'Find similar ideas',
      description: `Finds similar ideas. Call it before create_idea, with the new title and body. To find duplicates of an existing idea, give its id as of. A similarity of ${nearDuplicateSimilarity} or more means: probably a duplicate. Bodies are cut to ${excerptLength} characters.`,
      resultFields: ['data', 'id', 'url', 'title', 'body', 'status', 'score', 'similarity'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const similarRoutes = { findSimilarIdeas };
