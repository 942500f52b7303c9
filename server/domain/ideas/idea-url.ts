import type { Config } from '../../config.ts';

/** Where a person reads an idea: the page of IDEA_URL, with its placeholders filled in. */
export function ideaUrl(config: Pick<Config, 'BASE_URL' | 'IDEA_URL'>, boardSlug: string, ideaId: number): string {
  const values: Record<string, string> = {
    base_url: config.BASE_URL.replace(/\/+$/, ''),
    board: encodeURIComponent(boardSlug),
    id: String(ideaId),
  };
  return config.IDEA_URL.replace(/\{(base_url|board|id)\}/g, (_, name: string) => values[name] ?? '');
}
