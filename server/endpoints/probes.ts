import type { ServerDependencies } from '../dependencies.ts';
import type { Endpoints } from '../http/ts-rest.ts';
import { buildReadiness } from '../observability/readiness.ts';

export function probeEndpoints(server: ServerDependencies): Pick<Endpoints, 'getHealth' | 'getReadiness'> {
  const checkReadiness = buildReadiness(server);
  return {
    getHealth: async () => ({ status: 200, body: { ok: true } }),

    getReadiness: async ({ request, reply }) => {
      reply.header('Cache-Control', 'no-store');
      // A server that is shutting down writes no audit entry about a failed check, because it stops on purpose. Its log
      // already shows the shutdown.
      if (request.server.isDraining) return { status: 503, body: { ok: false } };
      const failed = await checkReadiness();
      return failed.length === 0 ? { status: 200, body: { ok: true } } : { status: 503, body: { ok: false } };
    },
  };
}
