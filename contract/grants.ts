import { z } from 'zod';

/** The grants, from the lowest to the highest. Each grant includes the lower ones. */
export const grants = ['read', 'write', 'moderate'] as const;

export const Grant = z.enum(grants).meta({
  title: 'Grant',
  description:
    '`read`: read the board and its published ideas. `write`: also create ideas, vote and comment. `moderate`: also change statuses and tags, merge, read and write notes, and read pending ideas.',
});
export type Grant = z.infer<typeof Grant>;

/**
 * The capabilities that a token can have in addition to its grants. An owner or admin chooses the capabilities of a new
 * token.
 */
export const capabilities = ['manage_webhooks'] as const;

export const Capability = z.enum(capabilities).meta({
  title: 'Capability',
  description: '`manage_webhooks`: manage the webhooks of the boards of the token.',
});
export type Capability = z.infer<typeof Capability>;

export function includesGrant(held: Grant, needed: Grant): boolean {
  return grants.indexOf(held) >= grants.indexOf(needed);
}

/**
 * The grants that query parameters need. A key is the name of a parameter, or the name with one of its values, such as
 * `expand=votes`.
 */
export type GrantByQuery = Readonly<Record<string, Grant>>;

/** Returns the grants that the parameters of a query need. The query is not validated yet. */
export function grantsOfQuery(grantByQuery: GrantByQuery = {}, query: Readonly<Record<string, unknown>>): Grant[] {
  return Object.entries(grantByQuery).flatMap(([key, grant]) => {
    const [name = '', value] = key.split('=');
    const given = query[name];
    const isNeeded = given !== undefined && (value === undefined || String(given).split(',').includes(value));
    return isNeeded ? [grant] : [];
  });
}
