import { z } from 'zod';
import { Id } from './identifiers.ts';

export const tagExample = { id: 3, name: 'Reports', color: '#0f766e' };

export const Tag = z
  .object({
    id: Id,
    name: z.string().describe("The tag's name, unique on its board."),
    color: z.string().describe('Six hexadecimal digits after `#`.'),
  })
  .meta({ title: 'Tag', description: 'A tag of a board.', examples: [tagExample] });
