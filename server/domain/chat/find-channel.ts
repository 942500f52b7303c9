import { Board } from '../../entities/board.ts';
import { ChatChannel, type ChatKind } from '../../entities/chat-channel.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { type SecretBox, SecretBoxError } from '../secret-box.ts';
import { chatUrlPurpose } from './chat-url.ts';

export async function requireChannel(admin: Administration, accountId: number, id: number): Promise<ChatChannel> {
  const channel = await admin.em.findOne(ChatChannel, { id, accountId });
  if (!channel) throw new AdministrationError('not_found', `The account has no chat channel ${id}`);
  return channel;
}

/** A channel with what is needed to post to it: its URL is for that, and not to be shown. */
export interface OpenedChannel {
  kind: ChatKind;
  url: string;
  boardName: string;
}

export async function openChannel(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  id: number,
): Promise<OpenedChannel> {
  const { kind, url, boardId } = await requireChannel(admin, accountId, id);
  const board = await admin.em.findOneOrFail(Board, { id: boardId, accountId });
  try {
    return { kind, url: secretBox.open(url, chatUrlPurpose), boardName: board.name };
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    throw new AdministrationError('conflict', error.message, { cause: error });
  }
}
