import { p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** A change of an idea, or a test event. */
export const Event = defineTable('Event', 'events', {
  id: p.uuid().primary().defaultRaw('gen_random_uuid()'),
  accountId: bigint().primary(),
  /** The board and the idea are null for a test event. */
  boardId: bigint().nullable(),
  ideaId: bigint().nullable(),
  /** The placeholder user for an erased user; null for the operator of the server. */
  actorId: bigint().nullable(),
  type: p.text(),
  /** The data of the body, with snapshots of the ideas' columns (see presentEvent). The previous version stored null. */
  data: p.json().columnType('jsonb').nullable(),
  /** The body for workers of the previous version. This version reads it only if there is no data. */
  body: p.json().columnType('json'),
  occurredAt: timestamp(),
  /** When the jobs for the chats were added. */
  toldAt: timestamp().nullable(),
});

/** A notification in the app, which is also mailed to a user with a notification address. */
export const Notification = defineTable('Notification', 'notifications', {
  ...accountKey,
  userId: bigint(),
  /** The subject is an event or a disabled endpoint. */
  eventId: p.uuid().nullable(),
  endpointId: bigint().nullable(),
  kind: p.text(),
  createdAt: creationTime(),
  readAt: timestamp().nullable(),
  mailedAt: timestamp().nullable(),
});

/** A subscription of an extension to the events of a type. */
export const ExtensionSubscription = defineTable('ExtensionSubscription', 'extension_subscriptions', {
  eventType: p.text().primary(),
  extension: p.text().primary(),
  renewedAt: timestamp(),
});
