import helmet from '@fastify/helmet';
import fastify from 'fastify';

/**
 * Returns the security headers of every page. By default, a page runs no scripts, loads only files of this server,
 * cannot be framed, and sends its forms only to this server. The library Helmet writes these headers once, on a
 * temporary server. Helmet's own hook would run too late for requests that an earlier hook rejects.
 */
export async function strictHeaders(): Promise<Record<string, string>> {
  const app = fastify();
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ["'self'"],
        // Images from other hosts are forbidden, because such a host would learn who reads a board.
        'img-src': ["'self'"],
        'form-action': ["'self'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    frameguard: { action: 'deny' },
    // Does not use the policy no-referrer. With that policy, browsers would send the header "Origin: null" with this
    // server's own forms.
    referrerPolicy: { policy: 'same-origin' },
    hsts: false, // Omits this header here, because headersOfAnswers in app.ts sets it.
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
