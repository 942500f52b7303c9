import { z } from 'zod';
import { Id } from './identifiers.ts';

export const Tag = z
  .object({ id: Id, name: z.string(), color: z.string().describe('Six hexadecimal digits after `#`.') })
  .meta({ title: 'Tag', description: 'A tag of a board.', examples: [{ id: 3, name: 'Billing', color: '#0f766e' }] });
