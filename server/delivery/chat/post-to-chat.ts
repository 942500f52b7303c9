import type { JobHelpers } from 'graphile-worker';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { chatUrlPurpose } from '../../domain/chat/chat-url.ts';
import { presentEvent } from '../../domain/events/present-event.ts';
import { recordedEventOf } from '../../domain/events/recorded-event.ts';
import { ideaUrl } from '../../domain/ideas/idea-url.ts';
import { SecretBoxError } from '../../domain/secret-box.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { slowChatQueue } from './chat-queues.ts';
import { describeEvent } from './message.ts';
import { type PostOutcome, postMessage } from './post-message.ts';

/** The payload of a post_to_chat job; `retries` is how often it was tried before. */
interface PostToChat {
  /** Missing in jobs of the version before this one. */
  account_id?: number;
  channel_id: number;
  event_id: string;
  retries?: number;
  /** Whether the job is in the queue of the account's slow channels. */
  is_slow?: boolean;
}

/** Runs for a job that names no account, so it has no filter on the account. */
const selectAccount = query('select_account_of_chat_channel', (db, $: Arguments<{ channelId: number }>) =>
  db.selectFrom('chat_channels as c').select('c.account_id').where('c.id', '=', $.channelId),
);

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

/** A forgotten channel is found to be slow again. */
const maxRemembered = 10_000;

const minute = 60_000;
const hour = 60 * minute;

/** How long to wait before each further try; the last one again and again. */
const retryDelaysMs = [10_000, minute, 5 * minute, 15 * minute, hour, 2 * hour, 4 * hour];

const minDelayMs = 1000;

/** News of yesterday are none: a post is given up when it would be later than that after its event. */
const maxAgeMs = 24 * hour;

/**
 * Posts an event to a channel of a chat. One that is gone is disabled; what fails otherwise is tried again for a day. The
 * posts to a channel that was slow or failed go to the account's slow queue, until the channel takes one quickly.
 */
export function postToChat(deps: TaskDependencies) {
  const { config, database, clock, logger, audit, requests, secretBox, metrics } = deps;
  const slowChannels = new Set<number>();
  return async (payload: unknown, { abortSignal }: Pick<JobHelpers, 'abortSignal'>) => {
    const { channel_id: channelId, event_id: eventId, retries = 0, is_slow = false, ...job } = payload as PostToChat;
    const accountId = job.account_id ?? (await accountOf(channelId));
    if (accountId === undefined) return;
    const [post] = await database.query(selectPost, { accountId, channelId, eventId });
    // The channel was disabled or removed, or the idea.
    if (!post) return;
    const tryLater = (tries: number, runAt: Date) =>
      addJob(database, {
        task: 'post_to_chat',
        payload: { account_id: accountId, channel_id: channelId, event_id: eventId, retries: tries, is_slow: true },
        queueName: slowChatQueue(accountId),
        runAt,
      });
    if (slowChannels.has(channelId) && !is_slow) {
      await tryLater(retries, clock.now());
      return;
    }
    const startedAt = performance.now();
    const outcome = await tryPost(post, abortSignal);
    const durationMs = performance.now() - startedAt;
    const isPosted = outcome.result === 'posted';
    noteSpeed(channelId, isPosted && durationMs < requests.quickMs);
    metrics?.countDelivery('chat', isPosted ? 'delivered' : 'failed', durationMs);
    if (isPosted) return;

    const { reason } = outcome;
    const now = clock.now();
    if (outcome.result === 'gone') {
      const [channel] = await database.query(disableChannel, { accountId, channelId, now, reason });
      if (!channel) return;
      const fields = { account_id: accountId, channel_id: channelId, reason: 'gone' as const };
      audit.record('chat_channel.disabled', { by: 'server', ...fields });
      logger.warn({ channelId, reason }, 'a chat channel was disabled');
      return;
    }
    const delayMs = retryDelaysMs[Math.min(retries, retryDelaysMs.length - 1)] ?? hour;
    const runAt = new Date(now.getTime() + Math.max(outcome.retryAfterMs ?? delayMs, minDelayMs));
    if (runAt.getTime() - new Date(post.occurred_at).getTime() > maxAgeMs) {
      logger.warn({ channelId, eventId, reason }, 'an event could not be posted to a chat');
      return;
    }
    await tryLater(retries + 1, runAt);
  };

  async function accountOf(channelId: number): Promise<number | undefined> {
    const [channel] = await database.query(selectAccount, { channelId });
    return channel?.account_id;
  }

  function noteSpeed(channelId: number, isQuick: boolean) {
    if (slowChannels.size >= maxRemembered) slowChannels.clear();
    if (isQuick) slowChannels.delete(channelId);
    else slowChannels.add(channelId);
  }

  async function tryPost({ kind, url, ...event }: DuePost, signal: AbortSignal | undefined): Promise<PostOutcome> {
    let opened: string;
    try {
      opened = secretBox.open(url, chatUrlPurpose);
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error;
      return { result: 'failed', reason: error.message, retryAfterMs: undefined };
    }
    const message = describeEvent(presentEvent(event), (board, ideaId) => ideaUrl(config, board, ideaId));
    return postMessage(requests, { kind, url: opened }, message, { now: clock.now(), signal });
  }
}
