import type { RouterImplementation } from '@ts-rest/fastify';
import type { contract } from '../../contract/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { checkReadiness } from '../observability/readiness.ts';

export function probeEndpoints(
  server: ServerDependencies,
): Pick<RouterImplementation<typeof contract>, 'getHealth' | 'getReadiness'> {
  return {
    getHealth: async () => ({ status: 200, body: { ok: true } }),

    getReadiness: async ({ reply }) => {
      reply.header('Cache-Control', 'no-store');
      const failed = await checkReadiness(server);
      return failed.length === 0 ? { status: 200, body: { ok: true } } : { status: 503, body: { ok: false } };
    },
  };
}
