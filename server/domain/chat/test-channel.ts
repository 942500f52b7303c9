import type { Administration } from '../administration.ts';
import type { SecretBox } from '../secret-box.ts';
import type { NamedChannel } from './change-channels.ts';
import { type OpenedChannel, openChannel } from './find-channel.ts';

/** Posts a test message to a channel. Returns why it failed; undefined if the chat took it. */
export type PostTest = (channel: OpenedChannel) => Promise<string | undefined>;

/**
 * Prepares a test message to a channel, which may be disabled. Call the returned function after the transaction has
 * committed: no transaction may wait for a chat.
 */
export async function testChannel(
  admin: Administration,
  secretBox: SecretBox,
  { accountId, id }: NamedChannel,
): Promise<(postTest: PostTest) => ReturnType<PostTest>> {
  const channel = await openChannel(admin, secretBox, accountId, id);
  admin.audit.record('chat_channel.tested', { account_id: accountId, channel_id: id });
  return postTest => postTest(channel);
}
