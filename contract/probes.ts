import { z } from 'zod';
import { raises } from './errors.ts';
import { c, type RouteMetadata } from './routes.ts';

export const getHealth = c.query({
  method: 'GET',
  path: '/health',
  summary: 'Liveness',
  description: 'Answers while the process takes requests. Never touches the database and is not rate limited.',
  responses: {
    200: z
      .object({ ok: z.literal(true) })
      .meta({ title: 'Healthy', description: 'The process takes requests.', examples: [{ ok: true }] }),
  },
  metadata: { tag: 'Probes', auth: 'none', isLimitedPerIp: false } as const satisfies RouteMetadata,
});

export const getReadiness = c.query({
  method: 'GET',
  path: '/ready',
  summary: 'Readiness',
  description:
    'Answers 200 when the database answers, no migration is pending, and the cron recorded a heartbeat lately. The failed check is in the audit log, never in the response.',
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
