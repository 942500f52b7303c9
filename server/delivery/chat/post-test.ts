import type { Config } from '../../config.ts';
import type { PostTest } from '../../domain/chat/test-channel.ts';
import { systemClock } from '../../domain/time.ts';
import { buildAddressGuard } from '../../outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../outgoing/outgoing-request.ts';
import { deliver } from '../channel.ts';
import { describeTest } from './message.ts';
import { postMessage } from './post-message.ts';

/** Posts test messages over connections of its own. Close it to close them. */
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
