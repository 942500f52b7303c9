import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';

/** Derives a key from the application key. Each purpose has its own key. */
export function deriveKey(appKey: Uint8Array, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', appKey, '', `idea-board ${purpose} 1`, 32)));
}

/** Signs texts for one purpose, such as the tokens in links. The signature is an HMAC-SHA-256. */
export function buildSigner(appKey: Uint8Array, purpose: string) {
  const key = deriveKey(appKey, purpose);
  const macOf = (text: string | Uint8Array) => createHmac('sha256', key).update(text).digest();
  const macWith = (text: string, context: string) => macOf(context === '' ? text : `${text} ${context}`);
  return {
    macOf,
    /**
     * Returns a text with its signature: `<text>.<signature in base64url>`. The signature also covers the context, which
     * the result does not contain.
     */
    sign: (text: string, context = '') => `${text}.${macWith(text, context).toString('base64url')}`,
    /**
     * Returns the text in a result of sign(). Returns undefined if the signature is wrong, or was made for another
     * context.
     */
    read(signed: string, context = ''): string | undefined {
      const [, text, mac] = /^(.*)\.([\w-]{43})$/s.exec(signed) ?? [];
      if (text === undefined || mac === undefined) return undefined;
      return timingSafeEqual(Buffer.from(mac, 'base64url'), macWith(text, context)) ? text : undefined;
    },
  };
}
