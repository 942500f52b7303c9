import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config.ts';

export interface Subscription {
  userId: number;
  /**
   * The subscription that the token ends. An id means that the user unfollows this idea, `all` ends all notification
   * mails, and `mentions` ends the notifications of mentions.
   */
  ideaId: number | 'all' | 'mentions';
}

/**
 * The tokens in unsubscribe links. A link also works for users who are not signed in. A token can only make the user
 * unfollow one idea, end the user's notification mails, or end the user's notifications of mentions.
 */
export interface UnsubscribeTokens {
  make(subscription: Subscription): string;
  read(token: string): Subscription | undefined;
}

const macBytes = 32;
/** The format of a token: `<user>.<idea, all or mentions>.<HMAC-SHA-256 in base64url>`. */
const tokenForm = /^([1-9][0-9]{0,15})\.([1-9][0-9]{0,15}|all|mentions)\.([A-Za-z0-9_-]{43})$/;

export function buildUnsubscribeTokens(appKey: Uint8Array): UnsubscribeTokens {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board unsubscribe 1', 32));
  const macOf = (subject: string) => createHmac('sha256', key).update(subject).digest();
  return {
    make({ userId, ideaId }) {
      const subject = `${userId}.${ideaId}`;
      return `${subject}.${macOf(subject).toString('base64url')}`;
    },
    read(token) {
      const [, userId = '', ideaId = '', mac = ''] = tokenForm.exec(token) ?? [];
      const given = Buffer.from(mac, 'base64url');
      const isOurs = given.length === macBytes && timingSafeEqual(given, macOf(`${userId}.${ideaId}`));
      if (!isOurs) return undefined;
      return { userId: Number(userId), ideaId: ideaId === 'all' || ideaId === 'mentions' ? ideaId : Number(ideaId) };
    },
  };
}

/** Returns the URL of the unsubscribe page. Mail clients also send the one-click unsubscribe there (RFC 8058). */
export function unsubscribeUrl({ BASE_URL }: Pick<Config, 'BASE_URL'>, token: string): string {
  return `${BASE_URL}/unsubscribe?token=${token}`;
}
