/** The rate limits of a token, with their defaults (Limits). REST and MCP share them. */
export const buckets = {
  'apitoken:read': { limit: 120, windowSeconds: 60 },
  'apitoken:write': { limit: 20, windowSeconds: 3600 },
} as const;

export type Bucket = keyof typeof buckets;

/** The largest request body, in bytes. */
export const maxBodyBytes = 64 * 1024;
