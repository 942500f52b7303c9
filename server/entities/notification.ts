import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';

/** What a user is told in the app, and by mail where the user has a notification address. */
export const Notification = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: {
    ...accountKey,
    userId: bigint(),
    /** What it tells of: an event, or an endpoint that was disabled. */
    eventId: p.uuid().nullable(),
    endpointId: bigint().nullable(),
    kind: p.text(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    readAt: timestamp().nullable(),
    mailedAt: timestamp().nullable(),
  },
});
export type Notification = InferEntity<typeof Notification>;
