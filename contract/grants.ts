import { z } from 'zod';

/** The grants, from the lowest to the highest. Each grant includes the lower ones. */
export const grants = ['read', 'write', 'moderate'] as const;

export const Grant = z.enum(grants).meta({
  title: 'Grant',
  description:
    '`read`: read the board and its published ideas. `write`: also create ideas, vote and comment. `moderate`: also change statuses and tags, merge, and read pending ideas.',
});
export type Grant = z.infer<typeof Grant>;

export function includesGrant(held: Grant, needed: Grant): boolean {
  return grants.indexOf(held) >= grants.indexOf(needed);
}
