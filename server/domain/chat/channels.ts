import type { EventType } from '../../../contract/events.ts';
import { Board } from '../../entities/board.ts';
import { ChatChannel, type ChatKind } from '../../entities/chat-channel.ts';
import type { AddressGuard } from '../../outgoing/address-guard.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkEventTypes, checkName } from '../fields.ts';
import { type SecretBox, SecretBoxError } from '../secret-box.ts';
import { storedReason } from '../webhooks/disabled-reason.ts';
import { chatUrlPurpose, problemOfChatUrl } from './chat-url.ts';

/** The types of events that a chat channel can show. Votes are left out, because they are too frequent. */
export const chatEventTypes = [
  'idea.created',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'comment.created',
] as const satisfies EventType[];

export interface NamedChannel {
  accountId: number;
  id: number;
}

interface NewChannel {
  accountId: number;
  boardId: number;
  kind: ChatKind;
  /** The URL of the chat's incoming webhook. The URL is a secret, because anyone who knows it can post. */
  url: string;
  name?: string;
  /** The types of events to post. If the list is empty or undefined, the channel gets all chatEventTypes. */
  eventTypes?: readonly string[];
}

/**
 * The maximum number of channels in an account. One event may add a job for each channel, so this also limits the
 * number of jobs.
 */
const maxChannels = 100;

export async function createChannel(
  admin: Administration,
  secretBox: SecretBox,
  { accountId, boardId, kind, url, name, eventTypes = [] }: NewChannel,
  guard?: AddressGuard,
): Promise<ChatChannel> {
  const trimmed = url.trim();
  const problem = problemOfChatUrl(kind, trimmed, guard);
  // The error message does not contain the URL, because the URL is a secret.
  if (problem) throw new AdministrationError('invalid', problem);
  await lockAccount(admin, accountId);
  if ((await admin.em.count(ChatChannel, { accountId })) >= maxChannels) {
    throw new AdministrationError('conflict', t('refusals.chat.limit', { max: maxChannels }));
  }
  const channel = admin.em.create(ChatChannel, {
    accountId,
    boardId,
    kind,
    name: name === undefined ? '' : checkName(name, 100),
    url: secretBox.seal(trimmed, chatUrlPurpose),
    eventTypes: checkEventTypes(eventTypes, chatEventTypes),
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('chat_channel.created', { ...describe(channel), board_id: boardId, kind });
  return channel;
}

/** Enables a channel for future events. The channel never gets the events that occurred while it was disabled. */
export async function enableChannel(admin: Administration, named: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, named);
  const wasDisabled = Boolean(channel.disabledAt);
  Object.assign(channel, { disabledAt: null, disabledReason: null });
  await admin.em.flush();
  if (wasDisabled) admin.audit.record('chat_channel.enabled', describe(channel));
}

/**
 * Disables a channel on behalf of an administrator. If the channel was already disabled, it keeps the earlier reason.
 */
export async function disableChannel(admin: Administration, named: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, named);
  if (channel.disabledAt !== null) return;
  Object.assign(channel, { disabledAt: admin.now, disabledReason: storedReason('administrator') });
  await admin.em.flush();
  admin.audit.record('chat_channel.disabled', { ...describe(channel), reason: 'administrator' });
}

export async function deleteChannel(admin: Administration, named: NamedChannel): Promise<void> {
  const channel = await requireChannel(admin, named);
  const deleted = describe(channel);
  await admin.em.remove(channel).flush();
  admin.audit.record('chat_channel.deleted', deleted);
}

/** A channel with its decrypted URL. Use the URL only to post to the channel. */
export interface OpenedChannel {
  kind: ChatKind;
  url: string;
  boardName: string;
}

/** Posts a test message to a channel. Returns an error message if the post fails, or undefined if it succeeds. */
export type PostTest = (channel: OpenedChannel) => Promise<string | undefined>;

/**
 * Returns a function that posts a test message. Call the function after the commit, because a chat service may be slow.
 */
export async function testChannel(admin: Administration, secretBox: SecretBox, named: NamedChannel) {
  const channel = await requireChannel(admin, named);
  const { accountId, boardId, kind } = channel;
  const { name: boardName } = await admin.em.findOneOrFail(Board, { id: boardId, accountId });
  const opened = { kind, url: openUrl(channel, secretBox), boardName };
  admin.audit.record('chat_channel.tested', describe(channel));
  return (postTest: PostTest) => postTest(opened);
}

function openUrl({ url }: ChatChannel, secretBox: SecretBox): string {
  try {
    return secretBox.open(url, chatUrlPurpose);
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    throw new AdministrationError('conflict', t(`refusals.secret.${error.reason}`), { cause: error });
  }
}

async function requireChannel(admin: Administration, { accountId, id }: NamedChannel): Promise<ChatChannel> {
  const channel = await admin.em.findOne(ChatChannel, { id, accountId });
  if (!channel) throw new AdministrationError('not_found', t('refusals.chat.unknown', { id }));
  return channel;
}

function describe({ accountId, id }: ChatChannel) {
  return { account_id: accountId, channel_id: id };
}
