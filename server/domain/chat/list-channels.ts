import { plannedStatement } from '../../database/statement.ts';
import type { ChatKind } from '../../entities/chat-channel.ts';
import { chatUrlPurpose, maskChatUrl } from '../../events/chat/chat-url.ts';
import { type SecretBox, SecretBoxError } from '../../events/secret-box.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';

/** A channel with as much of its URL as tells nobody how to post. */
export interface ChannelListing {
  id: number;
  board: string;
  kind: ChatKind;
  name: string;
  /** `https://hooks.slack.com/…`; null where it was encrypted with another application key. */
  url: string | null;
  event_types: string[];
  disabled_at: string | null;
  disabled_reason: string | null;
  created_at: string;
}

type SealedListing = ChannelListing & { sealed_url: Uint8Array };

const listing = `select c.id, b.slug as board, c.kind, c.name, c.url as sealed_url, c.event_types, c.disabled_at,
    c.disabled_reason, c.created_at
  from chat_channels c join boards b on b.id = c.board_id`;

const selectChannels = plannedStatement<SealedListing>(`
  ${listing}
  where c.account_id = $1 and ($2::bigint is null or c.board_id = $2) and ($3::bigint is null or c.id = $3)
  order by b.slug, c.id`);

const selectChannelPage = plannedStatement<SealedListing>(`
  ${listing}
  where c.account_id = $1 and ($2::bigint is null or c.id < $2)
  order by c.id desc
  limit $3`);

/** Lists the channels of an account, or of one board of it. */
export async function listChannels(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  boardId: number | null,
): Promise<ChannelListing[]> {
  const rows = await admin.query(selectChannels, [accountId, boardId, null]);
  return rows.map(row => mask(row, secretBox));
}

/** The newest channels of all boards of an account, or those before one. */
export async function listChannelPage(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<FirstRows<ChannelListing>> {
  const rows = await admin.query(selectChannelPage, [accountId, before ?? null, limit + 1]);
  return cutRows(
    rows.map(row => mask(row, secretBox)),
    limit,
  );
}

export async function readChannel(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  id: number,
): Promise<ChannelListing> {
  const [row] = await admin.query(selectChannels, [accountId, null, id]);
  if (!row) throw new AdministrationError('not_found', `The account has no chat channel ${id}`);
  return mask(row, secretBox);
}

function mask({ sealed_url, ...channel }: SealedListing, secretBox: SecretBox): ChannelListing {
  return { ...channel, url: maskedUrl(sealed_url, secretBox) };
}

function maskedUrl(sealed: Uint8Array, secretBox: SecretBox): string | null {
  try {
    return maskChatUrl(secretBox.open(sealed, chatUrlPurpose));
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}
