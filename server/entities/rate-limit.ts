import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { timestamp } from './columns.ts';

export const RateLimit = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    /** `<bucket>:<identity>` */
    key: p.text().primary(),
    windowStartedAt: timestamp(),
    expiresAt: timestamp(),
    count: p.integer(),
  },
});
export type RateLimit = InferEntity<typeof RateLimit>;
