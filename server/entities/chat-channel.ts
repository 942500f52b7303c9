import { type InferEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../contract/events.ts';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

export const chatKinds = ['slack', 'discord', 'mattermost', 'teams'] as const;
export type ChatKind = (typeof chatKinds)[number];

export const ChatChannel = defineTable('ChatChannel', 'chat_channels', {
  ...accountKey,
  boardId: bigint(),
  kind: p.text().$type<ChatKind>(),
  name: p.text().default(''),
  /**
   * The URL of the incoming webhook. It is encrypted with the application key, because anyone who knows the URL can
   * post.
   */
  url: p.blob(),
  /** The types of events that the channel shows. An empty list means all chatEventTypes. */
  eventTypes: p.array().$type<EventType[]>().columnType('text[]').default([]),
  disabledAt: timestamp().nullable(),
  disabledReason: p.text().nullable(),
  createdAt: creationTime(),
});
export type ChatChannel = InferEntity<typeof ChatChannel>;
