import { defineEntity, p } from '@mikro-orm/core';
import { timestamp } from './columns.ts';

/** When a periodic job last ran, or the server last started. */
export const Heartbeat = defineEntity({
  name: 'Heartbeat',
  tableName: 'heartbeats',
  properties: {
    name: p.text().primary(),
    recordedAt: timestamp(),
    /** Where people reach the server; null for a job. */
    address: p.text().nullable(),
  },
});
