import { sql } from 'kysely';

/*
 * graphile-worker runs only one job of a named queue at a time, across all processes. So an account cannot have more
 * concurrent posts than it has queues.
 */
const quickQueues = 4;

/**
 * The SQL for the name of a channel's queue. The channel has the SQL alias `c`. The channels of an account share four
 * queues. A queue runs one job at a time, so a quick channel gets its posts in order if no post fails.
 */
export const chatQueue = sql<string>`format('chats:%s:%s', c.account_id, c.id % ${sql.lit(quickQueues)})`;

/**
 * Returns the account's queue for slow and failing channels, so that the other channels of the account do not wait for
 * these channels.
 */
export const slowChatQueue = (accountId: number) => `chats:${accountId}:slow`;

/** The maximum number of concurrent posts to the chat channels of one account. */
export const chatQueuesOfAccount = quickQueues + 1;
