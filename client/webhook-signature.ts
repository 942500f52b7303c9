import { ConfigurationError } from './errors.ts';

/** The secret of a webhook, or several secrets during a rotation. */
export type WebhookSecret = string | readonly string[];

/** A key of Web Crypto. Node and browsers have different global names for this type. */
export type SigningKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const secretPrefix = 'whsec_';

/**
 * Imports the secrets of a webhook as keys. Throws a ConfigurationError if a secret is missing or invalid. The fault is
 * then in the receiver's configuration, and not in the webhook.
 */
export function importKeys(secret: WebhookSecret | undefined, usage: 'sign' | 'verify'): Promise<SigningKey[]> {
  const secrets = [secret].flat();
  if (secrets.length === 0) throw new ConfigurationError({ message: 'The list of webhook secrets is empty.' });
  const keys = secrets.map(bytesOfSecret);
  return Promise.all(
    keys.map(key => crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [usage])),
  );
}

function bytesOfSecret(secret: unknown): ArrayBuffer {
  if (secret === undefined || secret === '') {
    const message = 'The webhook secret is not set. Set it to the secret that the server showed for the webhook.';
    throw new ConfigurationError({ message });
  }
  const key = typeof secret === 'string' ? decodeBase64(secret.trim().replace(secretPrefix, '')) : undefined;
  // The error does not quote the secret.
  if (!key || key.byteLength === 0) {
    throw new ConfigurationError({ message: `A webhook secret must be ${secretPrefix} followed by base64.` });
  }
  return key;
}

/** Returns the bytes that the signature of a webhook covers. */
export function signedBytes(id: string, timestamp: string, body: Uint8Array): ArrayBuffer {
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const all = new Uint8Array(start.length + body.length);
  all.set(start);
  all.set(body, start.length);
  return all.buffer;
}

export function decodeBase64(text: string): ArrayBuffer | undefined {
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0)).buffer;
  } catch {
    return undefined;
  }
}
