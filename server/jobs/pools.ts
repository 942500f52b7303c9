import type { TaskList } from 'graphile-worker';
import { chatQueuesOfAccount } from '../delivery/chat/chat-queues.ts';

/** Jobs that share slots. A job never waits for a slot of another pool. */
export interface JobPool {
  taskList: TaskList;
  /** Its slots: how many of its jobs a process runs at once. */
  concurrency: number;
  hasCron: boolean;
}

/** One account fills half of the slots for chats and for webhooks at most. */
const accountsAtOnce = 2;

/** How many webhooks run at once where one account may have `concurrency` of them. No other pool is larger. */
export const webhookSlots = (concurrency: number) => accountsAtOnce * concurrency;

/**
 * Gives webhooks and chats pools of their own. Their jobs wait for receivers that customers chose, and receivers that
 * hang fill a pool. Mail, cron and everything else run in the first pool, which no receiver can fill.
 */
export function buildPools(tasks: TaskList, concurrency: number): JobPool[] {
  const { deliver_webhooks, post_to_chat, ...others } = tasks;
  return [
    { taskList: others, concurrency, hasCron: true },
    { taskList: { deliver_webhooks }, concurrency: webhookSlots(concurrency), hasCron: false },
    { taskList: { post_to_chat }, concurrency: accountsAtOnce * chatQueuesOfAccount, hasCron: false },
  ];
}
