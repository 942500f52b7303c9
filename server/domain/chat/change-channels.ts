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
  channel.disabledAt = null;
  channel.disabledReason = null;
  await admin.em.flush();
}

/** Posts nothing to a channel until it is enabled. One that is disabled already keeps its reason. */
export async function disableChannel(admin: Administration, { accountId, id }: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, accountId, id);
  if (channel.disabledAt !== null) return;
  channel.disabledAt = admin.now;
  channel.disabledReason = 'Disabled by an administrator';
  await admin.em.flush();
}

export async function deleteChannel(admin: Administration, { accountId, id }: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, accountId, id);
  await admin.em.remove(channel).flush();
}
