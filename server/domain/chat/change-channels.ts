import type { Administration } from '../administration.ts';
import { requireChannel } from './find-channel.ts';

/** A channel of an account. */
export interface NamedChannel {
  accountId: number;
  id: number;
}

/** Posts to a channel again. What happened in the meantime is not made up for. */
export async function enableChannel(admin: Administration, { accountId, id }: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, accountId, id);
  const wasDisabled = Boolean(channel.disabledAt);
  channel.disabledAt = null;
  channel.disabledReason = null;
  await admin.em.flush();
  if (wasDisabled) admin.audit.record('chat_channel.enabled', { account_id: accountId, channel_id: id });
}

/** Posts nothing to a channel until it is enabled. One that is disabled already keeps its reason. */
export async function disableChannel(admin: Administration, { accountId, id }: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, accountId, id);
  if (channel.disabledAt !== null) return;
  channel.disabledAt = admin.now;
  channel.disabledReason = 'Disabled by an administrator';
  await admin.em.flush();
  admin.audit.record('chat_channel.disabled', { account_id: accountId, channel_id: id, reason: 'administrator' });
}

export async function deleteChannel(admin: Administration, { accountId, id }: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, accountId, id);
  await admin.em.remove(channel).flush();
  admin.audit.record('chat_channel.deleted', { account_id: accountId, channel_id: id });
}
