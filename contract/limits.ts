/** A token's rate limits and their default values (Limits). REST endpoints and the MCP endpoint share these limits. */
export const buckets = {
  'apitoken:read': { limit: 120, windowSeconds: 60 },
  'apitoken:write': { limit: 20, windowSeconds: 3600 },
} as const;

export type Bucket = keyof typeof buckets;

export const maxBodyBytes = 64 * 1024;
