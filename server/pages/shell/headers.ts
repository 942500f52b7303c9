import helmet from '@fastify/helmet';
import fastify from 'fastify';

/**
 * The headers of every page: it runs nothing, loads nothing but what this server has, is framed by nobody, and sends its
 * forms to this server alone. Helmet writes them once, on a server of their own: its hook would come too late for a
 * request that a hook of the whole server refuses, and they are the same for every page.
 */
export async function strictHeaders(): Promise<Record<string, string>> {
  const app = fastify();
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ["'self'"],
        // No avatars from other hosts: whoever owns such a host would see who reads a board.
        'img-src': ["'self'"],
        'form-action': ["'self'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    frameguard: { action: 'deny' },
    // Not no-referrer: with it, browsers send the forms of this server with "Origin: null".
    referrerPolicy: { policy: 'same-origin' },
    hsts: false, // The whole server sends it.
    crossOriginResourcePolicy: { policy: 'same-origin' },
  });
  app.get('/', async () => '');
  const { headers } = await app.inject('/');
  await app.close();
  const others = new Set(['content-length', 'content-type', 'connection', 'date']);
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !others.has(name))
      .map(([name, value]) => [name, String(value)]),
  );
}
