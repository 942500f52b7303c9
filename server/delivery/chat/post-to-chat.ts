import type { JobHelpers } from 'graphile-worker';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { chatUrlPurpose } from '../../domain/chat/chat-url.ts';
import { findAccountOfEvent, presentEvent, recordedEventOf } from '../../domain/events/recorded-event.ts';
import { linkToIdeas } from '../../domain/ideas/present-idea.ts';
import { type Channel, deliver } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { nextTry, retryPolicies } from '../retry-policy.ts';
import { slowChatQueue } from './chat-queues.ts';
import { describeEvent } from './message.ts';
import { postMessage } from './post-message.ts';

/** The payload of a post_to_chat job. `retries` is the number of failed tries so far. */
interface PostToChat {
  /** The id of the account. Jobs from an older version of the server have no account id. */
  account_id?: number;
  channel_id: number;
  event_id: string;
  retries?: number;
  /** Whether the job is in the queue for the slow channels of the account. */
  is_slow?: boolean;
}

type DuePost = RowOf<typeof selectPost>;

const selectPost = query(
  'select_chat_post',
  (db, $: Arguments<{ accountId: number; channelId: number; eventId: string }>) =>
    db
      .selectFrom(['chat_channels as c', 'events as e'])
      .select(['c.kind', 'c.url'])
      .select(recordedEventOf)
      .where('c.account_id', '=', $.accountId)
      .where('c.id', '=', $.channelId)
      .where('c.disabled_at', 'is', null)
      .where('e.account_id', '=', $.accountId)
      .where('e.id', '=', $.eventId),
);

const disableChannel = query(
  'disable_chat_channel',
  (db, $: Arguments<{ accountId: number; channelId: number; now: Date; reason: string }>) =>
    db
      .updateTable('chat_channels as c')
      .set({ disabled_at: $.now, disabled_reason: $.reason })
      .where('c.account_id', '=', $.accountId)
      .where('c.id', '=', $.channelId)
      .where('c.disabled_at', 'is', null)
      .returning('c.id'),
);

/**
 * The maximum number of slow channels that a process remembers. A channel that the process has forgotten counts as
 * quick for one post.
 */
const maxRemembered = 10_000;

/**
 * Builds the task that posts an event to a chat channel. If the chat answers 404 or 410, the task disables the channel.
 * The task retries after other failures until the event is a day old. Posts to a slow or failing channel go to the
 * account's queue for slow channels, until the channel answers quickly again.
 */
export function postToChat(deps: TaskDependencies) {
  const { config, database, clock, logger, audit, requests, secretBox, metrics } = deps;
  const slowChannels = new Set<number>();
  const chat: Channel<DuePost> = {
    name: 'chat',
    async send({ kind, url, ...event }, signal) {
      const opened = { kind, url: secretBox.open(url, chatUrlPurpose) };
      const message = describeEvent(presentEvent(event, config), (board, ...shown) =>
        linkToIdeas(config, board)(...shown),
      );
      return postMessage(requests, opened, message, { now: clock.now(), signal });
    },
  };

  return async (payload: unknown, { abortSignal: signal }: Pick<JobHelpers, 'abortSignal'>) => {
    const { channel_id: channelId, event_id: eventId, retries = 0, is_slow = false, ...job } = payload as PostToChat;
    const accountId = job.account_id ?? (await findAccountOfEvent(database, eventId));
    if (accountId === undefined) return;
    const [due] = await database.query(selectPost, { accountId, channelId, eventId });
    // Skips a post that is no longer needed, because the channel was disabled or deleted, or the event was deleted.
    if (!due) return;
    const tryLater = (tries: number, delayMs: number) =>
      addJob(database, {
        task: 'post_to_chat',
        payload: { account_id: accountId, channel_id: channelId, event_id: eventId, retries: tries, is_slow: true },
        queueName: slowChatQueue(accountId),
        runAt: new Date(clock.now().getTime() + delayMs),
      });
    if (slowChannels.has(channelId) && !is_slow) return tryLater(retries, 0);

    const outcome = await deliver(chat, due, { metrics, signal });
    noteSpeed(channelId, outcome.result === 'delivered' && outcome.durationMs < requests.quickMs);
    if (outcome.result === 'delivered') return;
    const { reason } = outcome;
    if (outcome.result === 'refused') return disable(accountId, channelId, reason);
    const ageMs = clock.now().getTime() - new Date(due.occurred_at).getTime();
    const { retryAfterMs } = outcome;
    const delayMs = nextTry(retryPolicies.chat, { failedTries: retries + 1, retryAfterMs, ageMs });
    if (delayMs !== 'give up') return tryLater(retries + 1, delayMs);
    logger.warn({ channelId, eventId, reason }, 'an event could not be posted to a chat');
  };

  async function disable(accountId: number, channelId: number, reason: string) {
    const [channel] = await database.query(disableChannel, { accountId, channelId, now: clock.now(), reason });
    if (!channel) return;
    const fields = { account_id: accountId, channel_id: channelId, reason: 'gone' as const };
    audit.record('chat_channel.disabled', { by: 'server', ...fields });
    logger.warn({ channelId, reason }, 'a chat channel was disabled');
  }

  function noteSpeed(channelId: number, isQuick: boolean) {
    if (slowChannels.size >= maxRemembered) slowChannels.clear();
    if (isQuick) slowChannels.delete(channelId);
    else slowChannels.add(channelId);
  }
}
