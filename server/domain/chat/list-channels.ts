import type { InferResult } from 'kysely';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { type SecretBox, SecretBoxError } from '../secret-box.ts';
import { chatUrlPurpose, maskChatUrl } from './chat-url.ts';

type SealedListing = InferResult<ReturnType<typeof channelsOf>>[number];

/**
 * A channel with as much of its URL as tells nobody how to post, such as `https://hooks.slack.com/…`. The URL is null if
 * another application key encrypted it.
 */
export interface ChannelListing extends Omit<SealedListing, 'sealed_url'> {
  url: string | null;
}

/** The channels c of an account. */
function channelsOf({ db }: Administration, accountId: number) {
  return db
    .selectFrom('chat_channels as c')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'c.board_id').on('b.account_id', '=', accountId))
    .select([
      'c.id',
      'b.slug as board',
      'c.kind',
      'c.name',
      'c.url as sealed_url',
      'c.event_types',
      'c.disabled_at',
      'c.disabled_reason',
      'c.created_at',
    ])
    .where('c.account_id', '=', accountId);
}

/** Lists the channels of an account, or of one board of it. */
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

/** The newest channels of all boards of an account, or those before one. */
export async function listChannelPage(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<FirstRows<ChannelListing>> {
  const rows = await channelsOf(admin, accountId)
    .$call(c => (before === undefined ? c : c.where('c.id', '<', before)))
    .orderBy('c.id', 'desc')
    .limit(limit + 1)
    .execute();
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
  const row = await channelsOf(admin, accountId).where('c.id', '=', id).executeTakeFirst();
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
