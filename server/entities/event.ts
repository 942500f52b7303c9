import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

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
export type Event = InferEntity<typeof Event>;
