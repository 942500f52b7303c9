import type { FastifyInstance } from 'fastify';
import { PathId } from '../../../contract/identifiers.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { listParts, listPublicPages } from '../../domain/boards/list-public-pages.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { presentTime } from '../../domain/time.ts';
import { boardPath, ideaPath, roadmapPath } from '../boards/opened-board.ts';
import { loadTemplate } from '../shell/template.ts';
import { sendXml } from '../shell/xml.ts';

const renderIndex = loadTemplate<{ urls: string[] }>('pages/sitemap/sitemap-index');
const renderSitemap = loadTemplate<{ pages: { url: string; changed?: string }[] }>('pages/sitemap/sitemap');

/**
 * How long the server caches the list of sitemap parts. To list the parts, the server must search every account with a
 * public board.
 */
const indexMs = 10 * 60_000;

/** The paths that crawlers should not open, because they have no content for search engines. */
const closedPaths = ['/admin', '/api/', '/oauth/', '/unsubscribe'];

/**
 * Serves the sitemap of all public boards and robots.txt. Private boards, their ideas, ideas in hidden statuses and
 * ideas that await approval are not in the sitemap.
 */
export function serveSitemap({ database, clock, config }: Pick<ServerDependencies, 'database' | 'clock' | 'config'>) {
  const robots = [
    'User-agent: *',
    ...closedPaths.map(path => `Disallow: ${path}`),
    '',
    `Sitemap: ${config.BASE_URL}/sitemap.xml`,
    '',
  ].join('\n');
  const parts = remember(indexMs, clock, () => listParts(database));

  return async (app: FastifyInstance) => {
    app.get('/robots.txt', { config: { isPublicPage: true } }, async (_request, reply) =>
      reply.type('text/plain; charset=utf-8').send(robots),
    );

    app.get('/sitemap.xml', { config: { isPublicPage: true } }, async (_request, reply) => {
      const urls = (await parts()).map(part => `${config.BASE_URL}/sitemap-${part}.xml`);
      return sendXml(reply, 'application/xml', renderIndex({ urls }));
    });

    app.get<{ Params: { part: string } }>(
      '/sitemap-:part.xml',
      { config: { isPublicPage: true } },
      async (request, reply) => {
        const part = PathId.safeParse(request.params.part);
        if (!part.success || part.data > maxPart) throw new DomainError('not_found');
        const { boards, ideas } = await listPublicPages(database, part.data);
        const pages = [
          ...boards.flatMap(({ slug }) => [boardPath(slug), roadmapPath(slug)]).map(path => ({ path })),
          ...ideas.map(idea => ({ path: ideaPath(idea.slug, idea.id), changed: presentTime(idea.updated_at) })),
        ].map(({ path, ...page }) => ({ ...page, url: `${config.BASE_URL}${path}` }));
        if (pages.length === 0) throw new DomainError('not_found');
        return sendXml(reply, 'application/xml', renderSitemap({ pages }));
      },
    );
  };
}

/** The highest number of a sitemap part. In the parts up to this number, all ids are safe integers in JavaScript. */
const maxPart = 1_000_000_000;

/** Returns a function that loads a value and caches it for a period. Errors are not cached. */
function remember<T>(periodMs: number, clock: Pick<ServerDependencies['clock'], 'now'>, load: () => Promise<T>) {
  let kept: { value: Promise<T>; until: number } | undefined;
  return () => {
    const now = clock.now().getTime();
    if (!kept || now >= kept.until) {
      const value = load();
      kept = { value, until: now + periodMs };
      value.catch(() => {
        kept = undefined;
      });
    }
    return kept.value;
  };
}
