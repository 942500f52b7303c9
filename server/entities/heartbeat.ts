import { p } from '@mikro-orm/core';
import { defineTable, timestamp } from './columns.ts';

/** The time when a scheduled job last ran, or when a server last started. */
export const Heartbeat = defineTable('Heartbeat', 'heartbeats', {
  name: p.text().primary(),
  recordedAt: timestamp(),
  /** The base URL of the started server. Null for a scheduled job. */
  address: p.text().nullable(),
});
