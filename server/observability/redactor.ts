import { createHmac, randomBytes } from 'node:crypto';
import { isNativeError } from 'node:util/types';
import { settings as knownSettings } from '../config.ts';
import { describeError } from './describe-error.ts';
import { cutOff, decodeUrl, type HashText, maskAddresses } from './mask-addresses.ts';
import { cutText, isSecretField, isSecretHeader, redacted, redactSecrets } from './redact-secrets.ts';

/** Takes out of a log or an error report what must never be in one. */
export interface Redactor {
  /** Masks the addresses and hides the secrets of a text. To do it again changes nothing, unless the text was cut. */
  text(text: string): string;
  /**
   * Returns any value as plain data that can be written as JSON. Redacts each string in it, keys included, and hides the
   * fields that have the name of a secret. Reads errors, maps, sets and cycles. The value itself stays as it is.
   */
  value(value: unknown): unknown;
  /** HMAC-SHA-256 under the application key, of which it takes 12 digits, as the specification says. */
  hash: HashText;
}

export interface RedactorOptions {
  /** The application key; a function where it is known only later. */
  appKey: Uint8Array | (() => Uint8Array);
  /** Settings: their keys and passwords are hidden wherever they are in a text. */
  settings?: object;
  /** Extensions, whose settings also have keys and passwords. */
  extensions?: readonly { settings?: object | undefined }[];
}

/** The longest text that is read. A stack of ten frames has half of it. */
const maxTextLength = 4_096;
/** The characters that are read of all texts of a value together. */
const maxCharacters = 8 * maxTextLength;
/** How deep and how much of a value is read: a log line is no dump of a socket. */
const maxDepth = 10;
const maxValues = 5_000;
const maxItems = 1_000;
const maxCachedNames = 500;

export function buildRedactor({ appKey, settings = {}, extensions = [] }: RedactorOptions): Redactor {
  const hash: HashText = text => {
    const key = typeof appKey === 'function' ? appKey() : appKey;
    return createHmac('sha256', key).update(text).digest('hex').slice(0, 12);
  };
  const known = matchAny([settings, ...extensions.map(one => one.settings ?? {})].flatMap(secretsOf));
  const text = (given: string) =>
    maskAddresses(redactSecrets(cutText(given, maxTextLength).replace(known, redacted)), hash);
  /** The names of fields are in our code, and come again with each line. */
  const names = new Map<string, string>();
  const textOfName = (name: string) => {
    const redactedName = names.get(name) ?? text(name);
    if (names.size < maxCachedNames) names.set(name, redactedName);
    return redactedName;
  };
  return { text, hash, value: value => readValue(value, text, textOfName) };
}

/**
 * Builds the redactor for a process that cannot go on: its settings may be wrong, and no application key is loaded. Its
 * hashes are under a key of the moment, so they match nothing.
 */
export function buildEnvironmentRedactor(environment: NodeJS.ProcessEnv): Redactor {
  const isSetting = (name: string) => Object.hasOwn(knownSettings.shape, name) || name.startsWith('EXT_');
  const given = Object.entries(environment).filter(([name]) => isSetting(name));
  return buildRedactor({ appKey: randomBytes(32), settings: Object.fromEntries(given) });
}

function readValue(root: unknown, redact: Redactor['text'], redactName: Redactor['text']): unknown {
  /** The objects from the root to here: one that appears in itself is a cycle. */
  const path = new Set<object>();
  let count = 0;
  let characters = 0;

  const readText = (text: string) => {
    characters += Math.min(text.length, maxTextLength);
    return characters > maxCharacters ? cutOff : redact(text);
  };
  const readItems = (items: unknown[], depth: number) =>
    items
      .slice(0, maxItems)
      .map((one, index) => (isSecretHeader(items[index - 1]) ? redacted : read(one, depth)))
      .concat(items.length > maxItems ? [cutOff] : []);
  const readEntries = (entries: [string, () => unknown][], depth: number) =>
    Object.fromEntries(
      entries.slice(0, maxItems).map(([name, get]) => {
        const value = attempt(get);
        return [redactName(name), isSecretField(name, value) ? redacted : read(value, depth)];
      }),
    );
  const readObject = (value: object, depth: number): unknown => {
    if (value instanceof String || value instanceof URL || value instanceof RegExp) return readText(String(value));
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value) || value instanceof Set) return readItems([...value], depth);
    if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams) {
      return readEntries(
        [...value].map(([name, one]) => [String(name), () => one]),
        depth,
      );
    }
    const isError = isNativeError(value) || value instanceof Error;
    const fields = (isError ? describeError(value) : value) as Record<string, unknown>;
    if (typeof fields.toJSON === 'function') return read(fields.toJSON(), depth);
    return readEntries(
      Object.keys(fields).map(name => [name, () => fields[name]]),
      depth,
    );
  };
  const read = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string' || typeof value === 'bigint' || typeof value === 'symbol') {
      return readText(String(value));
    }
    if (typeof value === 'function') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (path.has(value)) return '[Circular]';
    count += 1;
    if (depth > maxDepth || count > maxValues) return cutOff;
    path.add(value);
    const result = attempt(() => readObject(value, depth + 1));
    path.delete(value);
    return result;
  };
  return read(root, 0);
}

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return '[Unreadable]';
  }
}

/** The keys and passwords in settings, in each form in which they may be in a text. */
function secretsOf(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const isSecret = isSecretField(name, value);
    if (value instanceof Uint8Array) {
      const bytes = Buffer.from(value);
      return isSecret
        ? [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')]
        : [];
    }
    if (typeof value !== 'string') return [];
    const url = URL.parse(value);
    // A DSN has its key in the place of the user.
    const user = url?.protocol.startsWith('http') ? url.username : '';
    const secrets = url ? [url.password || user, url.searchParams.get('password') ?? ''] : isSecret ? [value] : [];
    return secrets.flatMap(secret => {
      const decoded = decodeUrl(secret, 1);
      return [secret, decoded, encodeURIComponent(decoded)];
    });
  });
}

/** Matches long secrets first. A word is left out: every sentence with it would lose it. Without secrets nothing matches. */
function matchAny(secrets: string[]): RegExp {
  const hidden = secrets.filter(secret => secret.length >= 8 && !/^[a-z]+$/.test(secret));
  const longestFirst = hidden.sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(RegExp.escape).join('|') || '(?!)', 'gi');
}
