import type { Config } from '../../config.ts';
import { buildSigner } from '../signer.ts';

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

/** The format of a token: `<user>.<idea, all or mentions>.<signature>`. */
export function buildUnsubscribeTokens(appKey: Uint8Array): UnsubscribeTokens {
  const signer = buildSigner(appKey, 'unsubscribe');
  return {
    make: ({ userId, ideaId }) => signer.sign(`${userId}.${ideaId}`),
    read(token) {
      const [userId, ideaId] = signer.read(token)?.split('.', 2) ?? [];
      if (userId === undefined) return undefined;
      return { userId: Number(userId), ideaId: ideaId === 'all' || ideaId === 'mentions' ? ideaId : Number(ideaId) };
    },
  };
}

/** Returns the URL of the unsubscribe page. Mail clients also send the one-click unsubscribe there (RFC 8058). */
export function unsubscribeUrl({ BASE_URL }: Pick<Config, 'BASE_URL'>, token: string): string {
  return `${BASE_URL}/unsubscribe?token=${token}`;
}
