import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { definePage } from '../../pages/shell/page.ts';

/** The templates of pages that show a new secret. A button on them copies the secret. */
const copyPages = ['tokens/token-created', 'webhooks/secret', 'members/invitation-link'];

/**
 * All templates in server/admin. They are compiled at the start of the server, so that the server does not start with a
 * broken template.
 */
const pages = new Map(
  globSync('**/*.eta', { cwd: resolve(import.meta.dirname, '..') }).map(file => {
    const name = file.slice(0, -'.eta'.length);
    return [name, definePage(`admin/${name}`, { hasCopyButtons: copyPages.includes(name) })];
  }),
);

/** Returns the page for a template in server/admin, such as tokens/tokens. */
export function pageOf(template: string): ReturnType<typeof definePage> {
  const page = pages.get(template);
  if (!page) throw new Error(`There is no template ${template} in server/admin`);
  return page;
}
