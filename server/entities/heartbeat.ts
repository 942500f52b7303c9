import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { timestamp } from './columns.ts';

/** When a periodic job last ran. */
export const Heartbeat = defineEntity({
  name: 'Heartbeat',
  tableName: 'heartbeats',
  properties: {
    name: p.text().primary(),
    recordedAt: timestamp(),
  },
});
export type Heartbeat = InferEntity<typeof Heartbeat>;
