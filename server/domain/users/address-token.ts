import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config.ts';

/** With which of their addresses a user signs in, and to which one notifications are sent. */
export type AddressField = 'email' | 'notification_email';

/** An address that a user wants to have, and that takes effect when somebody who reads it confirms it. */
export interface AddressChange {
  userId: number;
  field: AddressField;
  address: string;
  /** What the user had when they asked: another one by now makes the token void. */
  basis: string;
}

/** Links to confirm an address. The database has nothing of them: what they say is in them, and proven by a MAC. */
export interface AddressTokens {
  make(change: AddressChange, expiresAt: Date): string;
  /** What a token of ours says; undefined for any other text, and for one whose time is over. */
  read(token: string, now: Date): AddressChange | undefined;
}

const macBytes = 32;
/** <field>.<user>.<end in seconds>.<basis>.<address>.<HMAC-SHA-256>, the last three in base64url */
const tokenForm =
  /^((email|notification_email)\.([1-9][0-9]{0,15})\.([1-9][0-9]{0,11})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{1,2000}))\.([A-Za-z0-9_-]{43})$/;

export function buildAddressTokens(appKey: Uint8Array): AddressTokens {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board address 1', 32));
  const macOf = (subject: string) => createHmac('sha256', key).update(subject).digest();
  return {
    make({ field, userId, basis, address }, expiresAt) {
      const end = Math.floor(expiresAt.getTime() / 1000);
      const subject = `${field}.${userId}.${end}.${basis}.${Buffer.from(address).toString('base64url')}`;
      return `${subject}.${macOf(subject).toString('base64url')}`;
    },
    read(token, now) {
      const [, subject = '', field, userId, end, basis = '', address = '', mac = ''] = tokenForm.exec(token) ?? [];
      const given = Buffer.from(mac, 'base64url');
      if (given.length !== macBytes || !timingSafeEqual(given, macOf(subject))) return undefined;
      if (Number(end) * 1000 <= now.getTime()) return undefined;
      return {
        field: field as AddressField,
        userId: Number(userId),
        basis,
        address: Buffer.from(address, 'base64url').toString(),
      };
    },
  };
}

/** Where an address is confirmed, by whoever is signed in. */
export function addressUrl({ BASE_URL }: Pick<Config, 'BASE_URL'>, token: string): string {
  return `${BASE_URL}/admin/profile/confirm?token=${token}`;
}
