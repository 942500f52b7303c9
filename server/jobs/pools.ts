import type { TaskList } from 'graphile-worker';
import { chatQueuesOfAccount } from '../delivery/chat/chat-queues.ts';

/** Jobs that share slots. They never wait for the slots of another pool. */
export interface JobPool {
  taskList: TaskList;
  /** The slots of the pool: a process runs this many of its jobs at once. */
  concurrency: number;
  hasCron: boolean;
}

/** One account takes at most half of the slots for chats and for webhooks. */
const accountsAtOnce = 2;

/** The slots for webhooks. One account may take `concurrency` of them. No other pool is larger. */
export const webhookSlots = (concurrency: number) => accountsAtOnce * concurrency;

/**
 * Gives webhooks and chats their own pools, which hanging receivers of customers may fill. Mail, cron and everything
 * else run in the first pool, which no receiver can fill.
 */
export function buildPools(tasks: TaskList, concurrency: number): JobPool[] {
  const { deliver_webhooks, post_to_chat, ...others } = tasks;
  return [
    { taskList: others, concurrency, hasCron: true },
    { taskList: { deliver_webhooks }, concurrency: webhookSlots(concurrency), hasCron: false },
    { taskList: { post_to_chat }, concurrency: accountsAtOnce * chatQueuesOfAccount, hasCron: false },
  ];
}
