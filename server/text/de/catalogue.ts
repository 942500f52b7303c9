import type { english } from '../en/catalogue.ts';
import shell from './shell.json' with { type: 'json' };

export const german: typeof english = { shell };
