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
      `From ${leastSimilarity}, a few common words, to 1, the same words in both titles. From ${nearDuplicateSimilarity}: a near-duplicate.`,
    ),
}).meta({
  title: 'SimilarIdea',
  description: 'An idea with its similarity to a text or to another idea.',
  examples: [similarExample],
});

export const SimilarIdeaList = z
  .object({ data: z.array(SimilarIdea).describe('The most similar ideas, the most similar first.') })
  .meta({
    title: 'SimilarIdeaList',
    description: `At most ${maxSimilarIdeas} similar ideas.`,
    examples: [{ data: [similarExample] }],
  });

export const findSimilarIdeas = c.query({
  method: 'GET',
  path: '/api/v1/ideas/similar',
  summary: 'Find similar ideas',
  description: `Returns at most ${maxSimilarIdeas} published ideas of the board that are similar to a new title and body, or to the idea \`of\`. Give either \`title\` or \`of\`. The search compares words, their stems in the language of the board, and trigrams, so it finds texts with typing errors and another order of words. It does not translate. Leaves out ideas in a hidden status. If a merged idea is similar, returns its target.`,
  query: z
    .strictObject({
      ...BoardParameter,
      title: line(1, 200)
        .optional()
        .describe('The title of a new idea.')
        .meta({ examples: ['CSV export of a board'] }),
      body: text(0, 1_000)
        .optional()
        .describe('The beginning of its body. Only with `title`.')
        .meta({ examples: ['I need a spreadsheet.'] }),
      // It has no example, because an example request with both a title and an id would be invalid.
      of: queryInteger(1, Number.MAX_SAFE_INTEGER).optional().describe('The id of an idea, instead of `title`.'),
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
      description: `Finds ideas that may ask for the same. Call it before create_idea with the new title and body, or with of for the duplicates of an idea. From a similarity of ${nearDuplicateSimilarity}, it is probably a duplicate. Bodies are cut to ${excerptLength} characters.`,
      resultFields: ['data', 'id', 'url', 'title', 'body', 'status', 'score', 'similarity'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const similarRoutes = { findSimilarIdeas };
