import { z } from 'zod';
import { raises } from './errors.ts';
import { c, type RouteMetadata } from './routes.ts';

export const getHealth = c.query({
  method: 'GET',
  path: '/health',
  summary: 'Liveness',
  description: 'Returns 200 while the process accepts requests. Does not use the database. Not rate limited.',
  responses: {
    200: z
      .object({ ok: z.literal(true) })
      .meta({ title: 'Healthy', description: 'The process accepts requests.', examples: [{ ok: true }] }),
  },
  metadata: { tag: 'Probes', auth: 'none', isLimitedPerIp: false } as const satisfies RouteMetadata,
});

export const getReadiness = c.query({
  method: 'GET',
  path: '/ready',
  summary: 'Readiness',
  description:
    'Returns 200 if the database answers, no migration is pending, and the cron recorded a recent heartbeat. The audit log names the failed check; the response does not.',
  responses: {
    200: z
      .object({ ok: z.literal(true) })
      .meta({ title: 'Ready', description: 'Every check passed.', examples: [{ ok: true }] }),
    503: z
      .object({ ok: z.literal(false) })
      .meta({ title: 'NotReady', description: 'A check failed.', examples: [{ ok: false }] }),
    ...raises('rate_limited'),
  },
  metadata: { tag: 'Probes', auth: 'none', isLimitedPerIp: true } as const satisfies RouteMetadata,
});

export const probeRoutes = { getHealth, getReadiness };
