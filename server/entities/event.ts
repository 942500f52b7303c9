import { defineEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';

/** What happened to an idea. */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'events',
  properties: {
    id: p.uuid().primary().defaultRaw('gen_random_uuid()'),
    accountId: bigint().primary(),
    /** The board and the idea are null for the test of an endpoint. */
    boardId: bigint().nullable(),
    ideaId: bigint().nullable(),
    /** The placeholder for a user who was erased; null for the operator of the server. */
    actorId: bigint().nullable(),
    type: p.text(),
    /**
     * The data of the body, with the columns of ideas as they were (see presentEvent). Null in an event that the version
     * before recorded.
     */
    data: p.json().columnType('jsonb').nullable(),
    /** The body, for workers of the version before. This version reads it where there is no data. */
    body: p.json().columnType('json'),
    occurredAt: timestamp(),
    /** When the chats were told. */
    toldAt: timestamp().nullable(),
  },
});

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
    createdAt: creationTime(),
    readAt: timestamp().nullable(),
    mailedAt: timestamp().nullable(),
  },
});

/** That an extension is told of the events of a type. */
export const ExtensionSubscription = defineEntity({
  name: 'ExtensionSubscription',
  tableName: 'extension_subscriptions',
  properties: {
    eventType: p.text().primary(),
    extension: p.text().primary(),
    renewedAt: timestamp(),
  },
});
