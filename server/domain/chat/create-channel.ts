import { ChatChannel, type ChatKind } from '../../entities/chat-channel.ts';
import type { AddressGuard } from '../../outgoing/address-guard.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkName, quote } from '../fields.ts';
import type { SecretBox } from '../secret-box.ts';
import { type ChatEventType, chatEventTypes } from './chat-event-types.ts';
import { chatUrlPurpose, problemOfChatUrl } from './chat-url.ts';

export interface NewChannel {
  accountId: number;
  boardId: number;
  kind: ChatKind;
  /** The URL of the incoming webhook, which whoever has it can post with. */
  url: string;
  name?: string;
  /** Empty, or left out: all that a chat can be told of. */
  eventTypes?: readonly string[];
}

/** Each is posted to by a job of its own, for each event. */
const maxChannels = 100;

/** Posts what happens on a board to a channel of a chat from now on. */
export async function createChannel(
  admin: Administration,
  secretBox: SecretBox,
  { accountId, boardId, kind, url, name, eventTypes = [] }: NewChannel,
  guard?: AddressGuard,
): Promise<ChatChannel> {
  const trimmed = url.trim();
  const problem = problemOfChatUrl(kind, trimmed, guard);
  // The URL is a secret, so the refusal does not repeat it.
  if (problem) throw new AdministrationError('invalid', `The URL ${problem}`);
  await lockAccount(admin, accountId);
  if ((await admin.em.count(ChatChannel, { accountId })) >= maxChannels) {
    throw new AdministrationError('conflict', `The account has ${maxChannels} channels already: delete one first`);
  }
  const channel = admin.em.create(ChatChannel, {
    accountId,
    boardId,
    kind,
    name: name === undefined ? '' : checkName(name, 100),
    url: secretBox.seal(trimmed, chatUrlPurpose),
    eventTypes: checkEventTypes(eventTypes),
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('chat_channel.created', {
    account_id: accountId,
    channel_id: channel.id,
    board_id: boardId,
    kind,
  });
  return channel;
}

function checkEventTypes(types: readonly string[]): ChatEventType[] {
  return [...new Set(types)].map(type => {
    const known = chatEventTypes.find(one => one === type);
    if (known) return known;
    throw new AdministrationError('invalid', `${quote(type)} is not one of ${chatEventTypes.join(', ')}`);
  });
}
