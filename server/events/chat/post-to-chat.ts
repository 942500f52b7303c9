import type { JobHelpers } from 'graphile-worker';
import type { EventBody } from '../../../contract/events.ts';
import { statement } from '../../database/statement.ts';
import type { ChatKind } from '../../entities/chat-channel.ts';
import { ideaUrl } from '../idea-url.ts';
import type { PeopleDependencies } from '../people/people-tasks.ts';
import { SecretBoxError } from '../secret-box.ts';
import { slowChatQueue } from './chat-queues.ts';
import { chatUrlPurpose } from './chat-url.ts';
import { describeEvent } from './message.ts';
import { type PostOutcome, postMessage } from './post-message.ts';

/** The payload of a post_to_chat job; `retries` is how often it was tried before. */
interface PostToChat {
  channel_id: number;
  event_id: string;
  retries?: number;
  /** Whether the job is in the queue of the account's slow channels. */
  is_slow?: boolean;
}

interface DuePost {
  account_id: number;
  kind: ChatKind;
  url: Uint8Array;
  body: EventBody;
  occurred_at: string;
}

const selectPost = statement<DuePost>(
  'select_chat_post',
  `select c.account_id, c.kind, c.url, e.body, e.occurred_at
  from chat_channels c, events e
  where c.id = $1 and c.disabled_at is null and e.id = $2`,
);

const disableChannel = statement<{ account_id: number }>(
  'disable_chat_channel',
  `update chat_channels set disabled_at = $2, disabled_reason = $3 where id = $1 and disabled_at is null
  returning account_id`,
);

const addToSlowQueue = statement<never>(
  'add_to_slow_chat_queue',
  `select graphile_worker.add_job(
    'post_to_chat',
    json_build_object('channel_id', $1::bigint, 'event_id', $2::uuid, 'retries', $3::int, 'is_slow', true),
    queue_name => ${slowChatQueue('$5::bigint')}, run_at => $4
  )`,
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
export function postToChat(deps: PeopleDependencies) {
  const { config, database, clock, logger, audit, requests, secretBox, metrics } = deps;
  const slowChannels = new Set<number>();
  return async (payload: unknown, { abortSignal }: Pick<JobHelpers, 'abortSignal'>) => {
    const { channel_id: channelId, event_id: eventId, retries = 0, is_slow = false } = payload as PostToChat;
    const [post] = await database.query(selectPost, [channelId, eventId]);
    // The channel was disabled or removed, or the idea.
    if (!post) return;
    const tryLater = (tries: number, at: Date) =>
      database.query(addToSlowQueue, [channelId, eventId, tries, at, post.account_id]);
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
      const [channel] = await database.query(disableChannel, [channelId, now, reason]);
      if (!channel) return;
      const fields = { account_id: channel.account_id, channel_id: channelId, reason: 'gone' as const };
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

  function noteSpeed(channelId: number, isQuick: boolean) {
    if (slowChannels.size >= maxRemembered) slowChannels.clear();
    if (isQuick) slowChannels.delete(channelId);
    else slowChannels.add(channelId);
  }

  async function tryPost({ kind, url, body }: DuePost, signal: AbortSignal | undefined): Promise<PostOutcome> {
    let opened: string;
    try {
      opened = secretBox.open(url, chatUrlPurpose);
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error;
      return { result: 'failed', reason: error.message, retryAfterMs: undefined };
    }
    const message = describeEvent(body, (board, ideaId) => ideaUrl(config, board, ideaId));
    return postMessage(requests, { kind, url: opened }, message, { now: clock.now(), signal });
  }
}
