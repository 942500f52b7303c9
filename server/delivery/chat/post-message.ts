import type { ChatKind } from '../../entities/chat-channel.ts';
import { OutgoingRequestError, type OutgoingRequests } from '../../outgoing/outgoing-request.ts';
import { renderForDiscord } from './discord.ts';
import { renderForMattermost } from './mattermost.ts';
import type { ChatMessage } from './message.ts';
import { renderForSlack } from './slack.ts';
import { renderForTeams } from './teams.ts';

const renderers = {
  slack: renderForSlack,
  discord: renderForDiscord,
  mattermost: renderForMattermost,
  teams: renderForTeams,
} satisfies Record<ChatKind, (message: ChatMessage) => unknown>;

/** What became of a post. The reason is for whoever set the channel up. */
export type PostOutcome =
  | { result: 'posted' }
  /** The incoming webhook is gone for good. */
  | { result: 'gone'; reason: string }
  /** It did not work now; the chat may have said how long to wait. */
  | { result: 'failed'; reason: string; retryAfterMs: number | undefined };

/** Posts one message to the incoming webhook of a chat. */
export async function postMessage(
  requests: OutgoingRequests,
  { kind, url }: { kind: ChatKind; url: string },
  message: ChatMessage,
  { now, signal }: { now: Date; signal?: AbortSignal | undefined },
): Promise<PostOutcome> {
  try {
    const answer = await requests.post(url, {
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(renderers[kind](message)),
      signal,
    });
    if (answer.status >= 200 && answer.status < 300) return { result: 'posted' };
    const reason = `The chat answered ${answer.status}`;
    if (answer.status === 404 || answer.status === 410) return { result: 'gone', reason };
    return { result: 'failed', reason, retryAfterMs: parseRetryAfter(answer.retryAfter, now) };
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error;
    return { result: 'failed', reason: error.message, retryAfterMs: undefined };
  }
}

/** Seconds, of which Discord also sends fractions, or a date (RFC 9110, section 10.2.3). */
function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now.getTime());
}
