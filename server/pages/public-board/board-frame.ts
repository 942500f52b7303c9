import type { Config } from '../../config.ts';
import { shortLine } from '../../text/plain-text.ts';
import type { Frame } from '../shell/page.ts';

interface About {
  config: Pick<Config, 'BASE_URL'>;
  title: string;
  /** Of a page that search engines may show. */
  canonicalPath?: string;
  /** Whether the page is the board's own. */
  isBoard?: boolean;
}

/** What the layout shows around a page of a public board. */
export function boardFrame(
  board: { slug: string; name: string },
  { config, title, canonicalPath, isBoard = true }: About,
): Frame {
  return {
    title,
    navigation: [{ label: shortLine(board.name, 100), href: boardPath(board.slug), isCurrent: isBoard }],
    ...(canonicalPath === undefined ? {} : { canonicalUrl: `${config.BASE_URL}${canonicalPath}` }),
  };
}

export function boardPath(slug: string): string {
  return `/b/${encodeURIComponent(slug)}`;
}
