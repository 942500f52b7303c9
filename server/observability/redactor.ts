import { createHmac } from 'node:crypto';
import { isNativeError } from 'node:util/types';
import { cutOff, cutText, withoutHalfWord } from './cut-text.ts';
import { describeError } from './describe-error.ts';
import { type HashText, maskAddresses } from './mask-addresses.ts';
import { isPlainId, isSecretHeader, isSecretName, redacted, redactSecrets } from './redact-secrets.ts';

/** Takes out of what leaves the server for a log, or for an error monitor, what must never be in one. */
export interface Redactor {
  /**
   * A text with its addresses masked and its secrets taken out. To do it again changes nothing, unless the text was cut:
   * one that is too long, or has too many addresses, ends with a sign for the rest.
   */
  text(text: string): string;
  /**
   * Any value as plain data that can be written as JSON, with every string in it, keys included, as text() has it, and
   * nothing in the fields that are named after a secret. It reads errors, maps, sets and whatever goes in circles; of
   * bytes it says how many they are. The value itself stays as it is.
   */
  value(value: unknown): unknown;
  /** The 12 digits that stand for a text: HMAC-SHA-256 under the application key. */
  hash: HashText;
}

export interface RedactorOptions {
  /** The application key; a function where it is known only later. */
  appKey: Uint8Array | (() => Uint8Array);
  /** Settings, of which the keys and passwords are taken out of texts wherever they turn up. */
  settings?: object;
  /** Extensions, whose settings have keys and passwords, too. */
  extensions?: readonly { settings?: object | undefined }[];
}

/** The longest text that is read. A stack of ten frames has half of it. */
const maxTextLength = 4_096;

/** As many digits as the specification says. */
const hashLength = 12;

export function buildRedactor({ appKey, settings = {}, extensions = [] }: RedactorOptions): Redactor {
  const hash: HashText = text =>
    createHmac('sha256', typeof appKey === 'function' ? appKey() : appKey)
      .update(text)
      .digest('hex')
      .slice(0, hashLength);
  const known = matchAny([settings, ...extensions.map(one => one.settings ?? {})].flatMap(secretsOf));
  const text = (given: string) => {
    const short = withoutHalfWord(cutText(given, maxTextLength));
    const withoutKnown = known ? short.replace(known, redacted) : short;
    return maskAddresses(redactSecrets(withoutKnown), hash);
  };
  const names = cacheNames(text);
  return { text, hash, value: value => new Walk(text, names).read(value, 0) };
}

/** A field's name as it is written, and whether it is that of a secret. */
interface FieldName {
  text: string;
  isSecret: boolean;
}

/** Nearly all names are written in our code, and come again with each line. */
const maxCachedNames = 500;

function cacheNames(text: (text: string) => string): (name: string) => FieldName {
  const known = new Map<string, FieldName>();
  return name => {
    let found = known.get(name);
    if (!found) {
      found = { text: text(name), isSecret: isSecretName(name) };
      if (known.size < maxCachedNames) known.set(name, found);
    }
    return found;
  };
}

/** How deep and how much of a value is read: a log line is to tell what happened, not to dump a socket. */
const maxDepth = 10;
const maxValues = 5_000;
const maxItems = 1_000;
/** The characters that are read of all texts of a value together. */
const maxCharacters = 8 * maxTextLength;

const unreadable = '[Unreadable]';

/** One reading of a value from its root to its leaves. */
class Walk {
  readonly #text: (text: string) => string;
  readonly #nameOf: (name: string) => FieldName;
  /** What is being read, from the root to here: whoever turns up in it again goes in circles. */
  readonly #path = new Set<object>();
  #count = 0;
  #characters = 0;

  constructor(text: (text: string) => string, nameOf: (name: string) => FieldName) {
    this.#text = text;
    this.#nameOf = nameOf;
  }

  read(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#readText(value);
    if (typeof value === 'bigint' || typeof value === 'symbol') return this.#readText(String(value));
    if (typeof value === 'function') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (this.#path.has(value)) return '[Circular]';
    this.#count += 1;
    if (depth > maxDepth || this.#count > maxValues) return cutOff;
    this.#path.add(value);
    try {
      return this.#readObject(value, depth);
    } catch {
      return unreadable;
    } finally {
      this.#path.delete(value);
    }
  }

  #readText(text: string): string {
    this.#characters += Math.min(text.length, maxTextLength);
    return this.#characters > maxCharacters ? cutOff : this.#text(text);
  }

  #readObject(value: object, depth: number): unknown {
    if (isNativeError(value) || value instanceof Error)
      return this.#readEntries(Object.entries(describeError(value)), depth);
    if (value instanceof String || value instanceof URL || value instanceof RegExp)
      return this.#readText(String(value));
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value)) return this.#readItems(value, depth);
    if (value instanceof Set) return this.#readItems([...value], depth);
    if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams) {
      return this.#readEntries(
        [...value].map(([key, one]) => [String(key), one]),
        depth,
      );
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') return this.read(toJSON.call(value), depth + 1);
    return this.#readEntries(
      Object.keys(value).map(key => [key, propertyOf(value, key)]),
      depth,
    );
  }

  #readItems(items: unknown[], depth: number): unknown[] {
    const read = items
      .slice(0, maxItems)
      .map((one, index) => (isSecretHeader(items[index - 1]) ? redacted : this.read(one, depth + 1)));
    return items.length > maxItems ? [...read, cutOff] : read;
  }

  #readEntries(entries: [string, unknown][], depth: number): Record<string, unknown> {
    const read = entries.slice(0, maxItems).map(([key, value]): [string, unknown] => {
      const { text, isSecret } = this.#nameOf(key);
      return [text, isSecret && !isPlainId(key, value) ? redacted : this.read(value, depth + 1)];
    });
    return Object.fromEntries(read);
  }
}

function propertyOf(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return unreadable;
  }
}

const minKnownLength = 8;

/** The keys and passwords in settings, in each form in which they may turn up. */
function secretsOf(settings: object): string[] {
  const found = Object.entries(settings).flatMap(([name, value]) => {
    if (value instanceof Uint8Array) return isSecretName(name) ? formsOfBytes(Buffer.from(value)) : [];
    if (typeof value !== 'string') return [];
    const url = URL.parse(value);
    // What reports go to is named by a key that stands where others have a user.
    const user = url?.protocol.startsWith('http') ? url.username : '';
    const inUrl = url ? [url.password || user, url.searchParams.get('password') ?? ''] : [];
    return [...inUrl, ...(isSecretName(name) && !url ? [value] : [])].flatMap(formsOfText);
  });
  // A word that is a password would take the word out of every sentence.
  return [...new Set(found)].filter(secret => secret.length >= minKnownLength && !/^[a-z]+$/.test(secret));
}

function formsOfBytes(bytes: Buffer): string[] {
  return [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
}

function formsOfText(secret: string): string[] {
  let decoded = secret;
  try {
    decoded = decodeURIComponent(secret);
  } catch {
    // It is no URL's: a percent sign stands for itself.
  }
  return [secret, decoded, encodeURIComponent(decoded)];
}

function matchAny(secrets: string[]): RegExp | undefined {
  if (secrets.length === 0) return undefined;
  const longestFirst = secrets.sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(RegExp.escape).join('|'), 'gi');
}
