import { randomBytes } from 'node:crypto';
import sharp, { type Metadata } from 'sharp';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { Picture } from '../../entities/user.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { buildQueue } from '../queue.ts';
import { lockUser } from '../users/find-user.ts';

export const maxUploadBytes = 5 * 1024 * 1024;

/** The width and the height of a stored picture in pixels. */
const size = 128;
/** The maximum number of pixels of an uploaded picture. Cameras of phones make pictures of 50 million pixels. */
const maxPixels = 60_000_000;
/**
 * The maximum number of pixels if the decoder keeps all pixels in memory. It does so for progressive JPEG and PNG files
 * and for WebP files, and needs up to 9 bytes for each pixel.
 */
const maxKeptPixels = 16_000_000;
/** The maximum number of scans of a JPEG file. Programs that make progressive JPEG files write about ten scans. */
const maxScans = 64;
const maxSeconds = 5;
/**
 * Converts one picture at a time, because a picture may need 150 MB of memory and blocks a thread of Node. Each waiting
 * picture keeps its file in memory.
 */
const takeTurn = buildQueue({ maxRunning: 1, maxWaiting: 8 });

// Allows only these formats for uploads, because the parsers of rarer formats have had more security defects.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] });
// Uses one thread, which is fast enough. Several threads would slow down other requests.
sharp.concurrency(1);
sharp.cache(false);

/**
 * Converts an uploaded picture to a small square. The new file contains only the pixels, and no metadata, such as the
 * place where a photo was taken. Throws `invalid` for a file that cannot be converted, such as a file that is not a
 * JPEG, PNG or WebP picture. Throws a BusyError if too many pictures wait.
 */
export function convertPicture(file: Buffer): Promise<Buffer> {
  return takeTurn(async () => {
    try {
      const picture = sharp(file, { limitInputPixels: maxPixels, failOn: 'error' });
      requireLittleWork(file, await picture.metadata());
      return await picture
        .autoOrient()
        .resize(size, size, { fit: 'cover' })
        .webp({ quality: 80 })
        .timeout({ seconds: maxSeconds })
        .toBuffer();
    } catch {
      throw new AdministrationError('invalid', t('picture.unreadable'));
    }
  });
}

/**
 * Refuses a picture that needs too much memory or time. The timeout of sharp is not enough: it does not stop the decoder
 * between the scans of a JPEG file, and a small file can contain thousands of scans.
 */
function requireLittleWork(file: Buffer, { format, width, height, isProgressive }: Metadata) {
  if (!isProgressive && format !== 'webp') return;
  if (width * height > maxKeptPixels) throw new Error('the picture has too many pixels');
  if (format === 'jpeg' && countScans(file) > maxScans) throw new Error('the picture has too many scans');
}

/** Counts the scan headers. The compressed data of a scan never contains the bytes of a scan header. */
function countScans(file: Buffer): number {
  const scanHeader = Buffer.from([0xff, 0xda]);
  let count = 0;
  for (let at = file.indexOf(scanHeader); at !== -1; at = file.indexOf(scanHeader, at + 2)) count++;
  return count;
}

/** Returns the path of a picture. `key` is the random text of the picture. */
const pathOf = (key: string) => `/pictures/${key}.webp`;

/**
 * Sets or removes the picture of a user. `content` is a result of convertPicture, or null to remove the picture. Throws
 * `conflict` for a user who is being erased, because the picture would still exist after the erasure. If an admin
 * removes the picture of a member, `place` contains the account of this membership.
 */
export async function setPicture(
  admin: Administration,
  userId: number,
  content: Buffer | null,
  place: { account_id?: number } = {},
): Promise<void> {
  const user = await lockUser(admin, userId);
  const key = randomBytes(16).toString('base64url');
  user.avatarUrl = content && pathOf(key);
  await admin.em.flush();
  if (content) await admin.em.upsert(Picture, { userId, key, content });
  else await admin.em.nativeDelete(Picture, { userId });
  admin.audit.record('user.updated', { ...place, user_id: userId, changed: ['avatar_url'] });
}

const selectPicture = query('select_picture', (db, $: Arguments<{ key: string }>) =>
  db.selectFrom('pictures').select('content').where('key', '=', $.key),
);

/**
 * Returns a picture as a WebP file. Returns undefined if the key is unknown, or if the picture was replaced or removed.
 */
export async function readPicture(db: Queryable, key: string): Promise<Uint8Array | undefined> {
  const [picture] = await db.query(selectPicture, { key });
  return picture?.content;
}

const selectPath = query('select_picture_path', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('users').select('avatar_url').where('id', '=', $.userId),
);

/** Returns the path of a user's picture, or null for a user without a picture. */
export async function picturePathOf(db: Queryable, userId: number): Promise<string | null> {
  const [user] = await db.query(selectPath, { userId });
  return user?.avatar_url ?? null;
}
