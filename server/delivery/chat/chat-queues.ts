import { sql } from 'kysely';

/*
 * graphile-worker runs one job of a named queue at a time, across all processes. So the number of an account's queues
 * limits its concurrent posts.
 */
const quickQueues = 4;

/** The queue of a channel c. Several channels share a queue. The posts of one channel keep their order. */
export const chatQueue = sql<string>`format('chats:%s:%s', c.account_id, c.id % ${sql.lit(quickQueues)})`;

/** The queue of an account's slow and failing channels, so that its other channels do not wait for them. */
export const slowChatQueue = (accountId: number) => `chats:${accountId}:slow`;

/** The most concurrent posts of one account. */
export const chatQueuesOfAccount = quickQueues + 1;
