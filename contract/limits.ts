/**
 * The rate limits of a token, with their default values (Limits). Requests to REST endpoints and to the MCP endpoint
 * share these limits.
 */
export const buckets = {
  'apitoken:read': { limit: 120, windowSeconds: 60 },
  'apitoken:write': { limit: 20, windowSeconds: 3600 },
} as const;

export type Bucket = keyof typeof buckets;

/** The maximum size of a request body, in bytes. */
export const maxBodyBytes = 64 * 1024;
