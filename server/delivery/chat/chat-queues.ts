import { sql } from 'kysely';

/*
 * graphile-worker runs one job of a named queue at a time, in all processes. So the number of an account's queues bounds
 * its posts that are under way.
 */
const quickQueues = 4;

/** The name of the queue of a channel c. Other channels share it, but each channel's posts keep their order. */
export const chatQueue = sql<string>`format('chats:%s:%s', c.account_id, c.id % ${sql.lit(quickQueues)})`;

/** The queue of an account's slow and failing channels, which must not keep its other channels waiting. */
export const slowChatQueue = (accountId: number) => `chats:${accountId}:slow`;

/** How many posts of one account are under way at most. */
export const chatQueuesOfAccount = quickQueues + 1;
