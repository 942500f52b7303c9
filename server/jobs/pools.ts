import type { TaskList } from 'graphile-worker';
import { chatQueuesOfAccount } from '../delivery/chat/chat-queues.ts';

/** A group of tasks whose jobs share job slots. The jobs never wait for the slots of another pool. */
export interface JobPool {
  taskList: TaskList;
  /** The number of job slots, which is the maximum number of the pool's jobs that one process runs at the same time. */
  concurrency: number;
  hasCron: boolean;
}

/**
 * The number of accounts that can use all of their slots at the same time. One account gets at most half of the slots
 * for webhooks and half of the slots for chats.
 */
const accountsAtOnce = 2;

/** Returns the number of job slots for webhooks. One account may take at most `concurrency` of these slots. */
export const webhookSlots = (concurrency: number) => accountsAtOnce * concurrency;

/**
 * Builds three separate pools of job slots. Webhooks and chats each have their own pool, because slow receivers may
 * take all slots of a pool. Mail, cron and all other tasks run in the first pool, which runs no webhook or chat jobs.
 */
export function buildPools(tasks: TaskList, concurrency: number): JobPool[] {
  const { deliver_webhooks, post_to_chat, ...others } = tasks;
  return [
    { taskList: others, concurrency, hasCron: true },
    { taskList: { deliver_webhooks }, concurrency: webhookSlots(concurrency), hasCron: false },
    { taskList: { post_to_chat }, concurrency: accountsAtOnce * chatQueuesOfAccount, hasCron: false },
  ];
}
