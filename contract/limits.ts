/** A token's rate limits and their default values. REST endpoints and the MCP endpoint share these limits. */
export const buckets = {
  'apitoken:read': { limit: 120, windowSeconds: 60 },
  'apitoken:write': { limit: 20, windowSeconds: 3600 },
} as const;

export type Bucket = keyof typeof buckets;

export const maxBodyBytes = 64 * 1024;

/**
 * The maximum numbers of entries that one response lists completely, such as the tags of an idea. The limits keep each
 * response of a tool with default arguments within 100,000 characters (test/mcp/answer-size.test.ts). A board that
 * already exceeds a limit keeps its data.
 */
export const maxTagsOfIdea = 10;
export const maxTagsOfBoard = 200;
export const maxStatusesOfBoard = 50;
export const maxBoardsOfToken = 100;

/** The maximum number of IP networks that the list of a token's allowed networks can contain. */
export const maxNetworksOfToken = 20;

/** The maximum number of ideas that one request can read by their ids. */
export const maxIdsOfRequest = 100;

/** The number of days that the server keeps events. */
export const keptEventDays = 30;

/**
 * The maximum number of seconds that a request can wait for events. The second constant is the maximum number of such
 * requests of one token at a time.
 */
export const maxWaitSeconds = 55;
export const maxWaitsOfToken = 2;

/** The maximum number of webhooks in an account. One event may add a delivery for each webhook. */
export const maxWebhooks = 100;

/** The server counts the pending deliveries of a webhook only up to this number, because there may be very many. */
export const maxPendingCounted = 1_000;

/**
 * After a rotation, the server also signs with the webhook's previous secret for this number of hours. Clients may
 * choose another number, up to the maximum.
 */
export const defaultOverlapHours = 24;
export const maxOverlapHours = 24 * 30;

/** An author may edit or delete their idea or comment for this number of minutes after its creation. */
export const changeMinutes = 15;

/** The maximum length of a note, in code points. */
export const maxNoteLength = 2_000;

/** The length of the excerpt of an idea's body, in code points. */
export const excerptLength = 300;

/** The maximum number of ideas that a search for similar ideas returns. */
export const maxSimilarIdeas = 5;

/**
 * A search for similar ideas returns only ideas with at least this similarity. The database function similar_ideas
 * contains the same number.
 */
export const leastSimilarity = 0.2;

/**
 * An idea with at least this similarity is a near-duplicate. docs/similar-ideas.md shows how this number was tested.
 */
export const nearDuplicateSimilarity = 0.6;
