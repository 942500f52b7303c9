import { p } from '@mikro-orm/core';
import { defineTable, timestamp } from './columns.ts';

/** The time of the last run of a periodic job, or of the last start of a server. */
export const Heartbeat = defineTable('Heartbeat', 'heartbeats', {
  name: p.text().primary(),
  recordedAt: timestamp(),
  /** The address of the server; null for a job. */
  address: p.text().nullable(),
});
