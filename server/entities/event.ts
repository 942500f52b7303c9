import { p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** A recorded change of an idea, or the test event of a webhook endpoint. */
export const Event = defineTable('Event', 'events', {
  id: p.uuid().primary().defaultRaw('gen_random_uuid()'),
  accountId: bigint().primary(),
  /** The board of the event. The board and the idea are null for a test event. */
  boardId: bigint().nullable(),
  ideaId: bigint().nullable(),
  /**
   * The user who caused the event. Null if the operator of the server caused the event. When this user is erased, the
   * placeholder user (the common user for all erased users) takes their place in this column.
   */
  actorId: bigint().nullable(),
  type: p.text(),
  /**
   * The data of the event body, with snapshots of the ideas' columns (see presentEvent). Null if the previous version
   * of the server stored the event.
   */
  data: p.json().columnType('jsonb').nullable(),
  /**
   * The body for workers of the previous version of the server. The current version reads the body only if data is
   * null.
   */
  body: p.json().columnType('json'),
  occurredAt: timestamp(),
  /**
   * The time when a worker first processed the event. At this time, the worker also added the jobs for chat channels.
   */
  toldAt: timestamp().nullable(),
  /** The names of the extensions that have subscribed to the event and have not received it yet. */
  waitingExtensions: p.array().columnType('text[]').default([]),
});

/** The position of an event in the list of events of its board. Clients read this list to follow the board. */
export const EventPosition = defineTable('EventPosition', 'event_positions', {
  accountId: bigint().primary(),
  eventId: p.uuid().primary(),
  boardId: bigint(),
  type: p.text(),
  /** Whether the idea was pending at the time of the event. Only moderators get such an event. */
  isPending: p.boolean(),
  /** A counter that grows with each recorded event. New positions are assigned in the order of this counter. */
  number: bigint().autoincrement(),
  /**
   * The list of events is sorted by this column. Null until a request for the list assigns a position to the committed
   * event.
   */
  position: bigint().nullable(),
});

/**
 * A request that waits for events of a board. One token can have only a few such requests at the same time. Each of
 * these requests has its own slot.
 */
export const EventWait = defineTable('EventWait', 'event_waits', {
  accountId: bigint().primary(),
  tokenId: bigint().primary(),
  slot: p.smallint().primary(),
  boardId: bigint(),
  /** The server process that answers the request. The process extends the row's expiry while the request waits. */
  serverId: p.uuid(),
  expiresAt: timestamp(),
});

/**
 * A board for which the server records every vote as an event, because a client has asked for events of votes. For
 * other boards, the server records votes only if a webhook or an extension subscribes to them.
 */
export const VoteFollowing = defineTable('VoteFollowing', 'vote_followings', {
  accountId: bigint().primary(),
  boardId: bigint().primary(),
  expiresAt: timestamp(),
});

/**
 * A notification in the app. If SMTP_URL is set, a user with a notification_email also gets the notification by mail.
 */
export const Notification = defineTable('Notification', 'notifications', {
  ...accountKey,
  userId: bigint(),
  /** The event of the notification. A notification about a disabled webhook has an endpointId instead. */
  eventId: p.uuid().nullable(),
  endpointId: bigint().nullable(),
  kind: p.text(),
  createdAt: creationTime(),
  readAt: timestamp().nullable(),
  mailedAt: timestamp().nullable(),
});

/** The subscription of an extension to one type of event. */
export const ExtensionSubscription = defineTable('ExtensionSubscription', 'extension_subscriptions', {
  eventType: p.text().primary(),
  extension: p.text().primary(),
  renewedAt: timestamp(),
});
