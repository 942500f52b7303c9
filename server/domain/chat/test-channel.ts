import { describeTest } from '../../delivery/chat/message.ts';
import { type PostOutcome, postMessage } from '../../delivery/chat/post-message.ts';
import type { OutgoingRequests } from '../../outgoing/outgoing-request.ts';
import type { Administration } from '../administration.ts';
import type { SecretBox } from '../secret-box.ts';
import type { NamedChannel } from './change-channels.ts';
import { openChannel } from './find-channel.ts';

/**
 * Has a message posted to a channel, to try it out, whether it is disabled or not. What is answered posts it: that is for
 * when the transaction is over, so that none waits for a chat.
 */
export async function testChannel(
  admin: Administration,
  secretBox: SecretBox,
  { accountId, id }: NamedChannel,
): Promise<(requests: OutgoingRequests) => Promise<PostOutcome>> {
  const { boardName, ...channel } = await openChannel(admin, secretBox, accountId, id);
  admin.audit.record('chat_channel.tested', { account_id: accountId, channel_id: id });
  return requests => postMessage(requests, channel, describeTest(boardName), { now: admin.now });
}
