import type { InferResult } from 'kysely';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { type SecretBox, SecretBoxError } from '../secret-box.ts';
import { chatUrlPurpose, maskChatUrl } from './chat-url.ts';

type StoredListing = InferResult<ReturnType<typeof channelsOf>>[number];

/**
 * A channel with the part of its URL that is not secret, such as `https://hooks.slack.com/…`. The URL is null if it was
 * encrypted with another application key.
 */
export interface ChannelListing extends Omit<StoredListing, 'encrypted_url'> {
  url: string | null;
}

function channelsOf({ db }: Administration, accountId: number) {
  return db
    .selectFrom('chat_channels as c')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'c.board_id').on('b.account_id', '=', accountId))
    .select(['c.id', 'b.slug as board', 'c.kind', 'c.name', 'c.url as encrypted_url', 'c.event_types'])
    .select(['c.disabled_at', 'c.disabled_reason', 'c.created_at'])
    .where('c.account_id', '=', accountId);
}

export async function listChannels(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  boardId: number | null,
): Promise<ChannelListing[]> {
  const rows = await channelsOf(admin, accountId)
    .$call(c => (boardId === null ? c : c.where('c.board_id', '=', boardId)))
    .orderBy('b.slug')
    .orderBy('c.id')
    .execute();
  return rows.map(row => mask(row, secretBox));
}

/** Lists chat channels, newest first. If `before` is given, lists only channels whose ids are smaller than `before`. */
export async function listChannelPage(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before: number | undefined; limit: number },
): Promise<FirstRows<ChannelListing>> {
  const rows = await channelsOf(admin, accountId)
    .where('c.id', '<', before)
    .orderBy('c.id', 'desc')
    .limit(limit + 1)
    .execute();
  const channels = rows.map(row => mask(row, secretBox));
  return cutRows(channels, limit);
}

export async function readChannel(admin: Administration, secretBox: SecretBox, accountId: number, id: number) {
  const row = await channelsOf(admin, accountId)
    .where('c.id', '=', id)
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.chat.unknown', { id })));
  return mask(row, secretBox);
}

function mask({ encrypted_url, ...channel }: StoredListing, secretBox: SecretBox): ChannelListing {
  try {
    return { ...channel, url: maskChatUrl(secretBox.open(encrypted_url, chatUrlPurpose)) };
  } catch (error) {
    if (error instanceof SecretBoxError) return { ...channel, url: null };
    throw error;
  }
}
