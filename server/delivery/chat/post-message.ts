import type { Config } from '../../config.ts';
import type { OpenedChannel, PostTest } from '../../domain/chat/channels.ts';
import { systemClock } from '../../domain/time.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { buildOutgoingRequests, type OutgoingRequests } from '../../outgoing/outgoing-request.ts';
import { deliver, type Outcome, post } from '../channel.ts';
import { renderers } from './formats.ts';
import { type ChatMessage, describeTest } from './message.ts';

/** Posts one message to a chat's incoming webhook. The outcome is `refused` if the chat answers 404 or 410. */
export function postMessage(
  requests: OutgoingRequests,
  { kind, url }: Pick<OpenedChannel, 'kind' | 'url'>,
  message: ChatMessage,
  { now, signal }: { now: Date; signal?: AbortSignal | undefined },
): Promise<Outcome> {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const body = JSON.stringify(renderers[kind](message));
  return post(requests, { url, headers, body, receiver: 'The chat', goneStatuses: [404, 410], now }, signal);
}

/**
 * Builds a function that posts test messages over its own connections. The caller must close these connections at the
 * end.
 */
export function buildTestPoster(
  { WEBHOOK_ALLOWED_CIDRS }: Pick<Config, 'WEBHOOK_ALLOWED_CIDRS'>,
  timeoutMs?: number,
): { postTest: PostTest; close: () => void } {
  const guard = buildAddressGuard(WEBHOOK_ALLOWED_CIDRS);
  const requests = buildOutgoingRequests({ guard, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  return {
    async postTest(opened) {
      const message = describeTest(opened.boardName);
      const send = () => postMessage(requests, opened, message, { now: systemClock.now() });
      const outcome = await deliver({ name: 'chat', send }, opened);
      return outcome.result === 'delivered' ? undefined : outcome.reason;
    },
    close: requests.close,
  };
}
