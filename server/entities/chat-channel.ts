import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../contract/events.ts';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';

export const chatKinds = ['slack', 'discord', 'mattermost', 'teams'] as const;
export type ChatKind = (typeof chatKinds)[number];

/** A channel of a chat that a board's events are posted to. */
export const ChatChannel = defineEntity({
  name: 'ChatChannel',
  tableName: 'chat_channels',
  properties: {
    ...accountKey,
    boardId: bigint(),
    kind: p.text().$type<ChatKind>(),
    name: p.text().default(''),
    /** The URL of the incoming webhook, which is what authorizes posting: encrypted with the application key. */
    url: p.blob(),
    /** Empty: the types that a chat shows by default. */
    eventTypes: p.array().$type<EventType[]>().columnType('text[]').default([]),
    disabledAt: timestamp().nullable(),
    disabledReason: p.text().nullable(),
    createdAt: creationTime(),
  },
});
export type ChatChannel = InferEntity<typeof ChatChannel>;
