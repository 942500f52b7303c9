import { createHmac, randomBytes } from 'node:crypto';
import { isNativeError } from 'node:util/types';
import { settings as knownSettings } from '../config.ts';
import { describeError } from './describe-error.ts';
import { cutOff, decodeUrl, type HashText, maskAddresses } from './mask-addresses.ts';
import { cutText, isPlainId, isSecretHeader, isSecretName, redacted, redactSecrets } from './redact-secrets.ts';

/** Removes secrets and masks e-mail addresses in logs and error reports. */
export interface Redactor {
  /**
   * Removes secrets from a text and masks e-mail addresses. Redacting a redacted text again does not change it, unless
   * the text was cut.
   */
  text(text: string): string;
  /**
   * Returns a redacted copy of any value as plain data for JSON. Redacts all strings in the value, including keys. If a
   * field has the name of a secret, replaces the field's value. Handles errors, maps, sets and cycles.
   */
  value(value: unknown): unknown;
  /** Returns the first 12 hexadecimal digits of a text's HMAC-SHA-256 under the application key. */
  hash: HashText;
}

export interface RedactorOptions {
  /** The application key, or a function that returns it, so that the log can start before the key is loaded. */
  appKey: Uint8Array | (() => Uint8Array);
  /** The settings of the server. The redactor removes the keys and passwords in these settings from every text. */
  settings?: object;
  /** The extensions. The redactor also removes the keys and passwords in the settings of extensions. */
  extensions?: readonly { settings?: object | undefined }[];
}

/** The maximum number of characters in a text. Longer texts are cut. A stack of ten frames has half this length. */
const maxTextLength = 4_096;
/** The maximum number of characters in all texts of one value together. */
const maxCharacters = 8 * maxTextLength;
/** The maximum depth and size of a logged value, so that a large object, such as a socket, does not fill the log. */
const maxDepth = 10;
const maxValues = 5_000;
const maxItems = 1_000;
const maxCachedNames = 500;

interface FieldName {
  shown: string;
  isSecret: boolean;
}

export function buildRedactor({ appKey, settings = {}, extensions = [] }: RedactorOptions): Redactor {
  const hash: HashText = text => {
    const key = typeof appKey === 'function' ? appKey() : appKey;
    return createHmac('sha256', key).update(text).digest('hex').slice(0, 12);
  };
  const known = matchAny([settings, ...extensions.map(one => one.settings ?? {})].flatMap(secretsOf));
  const text = (given: string) =>
    maskAddresses(redactSecrets(cutText(given, maxTextLength).replace(known, redacted)), hash);
  // Caches the redacted names of fields, because there are few names and they recur in each line.
  const names = new Map<string, FieldName>();
  const nameOf = (name: string) => {
    const field = names.get(name) ?? { shown: text(name), isSecret: isSecretName(name) };
    if (names.size < maxCachedNames) names.set(name, field);
    return field;
  };
  return { text, hash, value: value => readShortLine(value, text, nameOf) ?? readValue(value, text, nameOf) };
}

/**
 * Builds the redactor for a process that failed to start. The settings of such a process may be invalid, and no
 * application key is loaded. So the redactor hashes with a random key, and its hashes differ from the hashes of other
 * processes.
 */
export function buildEnvironmentRedactor(environment: NodeJS.ProcessEnv): Redactor {
  const isSetting = (name: string) => Object.hasOwn(knownSettings.shape, name) || name.startsWith('EXT_');
  const given = Object.entries(environment).filter(([name]) => isSetting(name));
  return buildRedactor({ appKey: randomBytes(32), settings: Object.fromEntries(given) });
}

/**
 * A line with at most this number of texts cannot exceed the limit for all texts together, because each text has a
 * maximum length.
 */
const maxShortFields = maxCharacters / maxTextLength;

/**
 * Redacts a plain object with few fields that are texts, numbers or booleans, such as the log line of a request. This
 * takes less than half of the time of readValue(). Returns undefined for any other value.
 */
function readShortLine(
  line: unknown,
  redact: Redactor['text'],
  nameOf: (name: string) => FieldName,
): Record<string, unknown> | undefined {
  if (typeof line !== 'object' || line === null || Object.getPrototypeOf(line) !== Object.prototype) return undefined;
  const result: Record<string, unknown> = {};
  let count = 0;
  for (const name of Object.keys(line)) {
    const { value, get } = Object.getOwnPropertyDescriptor(line, name) as PropertyDescriptor;
    const isSimple = value === undefined || ['string', 'number', 'boolean'].includes(typeof value);
    if (get || !isSimple || name === '__proto__' || ++count > maxShortFields) return undefined;
    const { shown, isSecret } = nameOf(name);
    const isHidden = isSecret && !isPlainId(name, value);
    result[shown] = isHidden ? redacted : typeof value === 'string' ? redact(value) : value;
  }
  return result;
}

function readValue(root: unknown, redact: Redactor['text'], nameOf: (name: string) => FieldName): unknown {
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
  const readFields = (fields: [string, unknown][], depth: number) =>
    Object.fromEntries(
      fields.slice(0, maxItems).map(([name, value]) => {
        const { shown, isSecret } = nameOf(name);
        return [shown, isSecret && !isPlainId(name, value) ? redacted : read(value, depth)];
      }),
    );
  const readObject = (value: object, depth: number): unknown => {
    if (value instanceof String || value instanceof RegExp) return readText(String(value));
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
    if (Array.isArray(value) || value instanceof Set) return readItems([...value], depth);
    if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams) {
      return readFields(
        [...value].map(([name, one]) => [String(name), one]),
        depth,
      );
    }
    const isError = isNativeError(value) || value instanceof Error;
    const fields = (isError ? describeError(value) : value) as Record<string, unknown>;
    // Calls toJSON, as JSON.stringify does. For example, dates and URLs have this method.
    if (typeof fields.toJSON === 'function') return read(fields.toJSON(), depth);
    return readFields(
      Object.keys(fields).map(name => [name, attempt(() => fields[name])]),
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

/** Returns the keys and passwords in settings, each in the usual notations, such as base64 or URL encoding. */
function secretsOf(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (value instanceof Uint8Array && isSecretName(name)) {
      const bytes = Buffer.from(value);
      return [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
    }
    if (name.endsWith('_HEADERS')) {
      const texts = typeof value === 'string' ? value.split(/[,=]/) : Object.values(value ?? {});
      return texts.filter(text => typeof text === 'string');
    }
    if (typeof value !== 'string') return [];
    return (URL.canParse(value) ? secretsOfUrl(new URL(value)) : isSecretName(name) ? [value] : []).flatMap(secret => {
      const decoded = decodeUrl(secret, 1);
      return [secret, decoded, encodeURIComponent(decoded)];
    });
  });
}

/** Returns the secrets in a URL. In a Sentry DSN, the key is in the place of the user name. */
function secretsOfUrl({ protocol, username, password, searchParams }: URL): string[] {
  return [password || (protocol.startsWith('http') ? username : ''), searchParams.get('password') ?? ''];
}

/**
 * Returns a pattern that matches any of the secrets. Longer secrets come first, because they may contain shorter ones.
 * If there are no secrets, the pattern matches nothing. Skips short secrets and plain words, because their removal
 * would damage ordinary sentences.
 */
function matchAny(secrets: string[]): RegExp {
  const hidden = secrets.filter(secret => secret.length >= 8 && !/^[a-z]+$/.test(secret));
  const longestFirst = hidden.sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(RegExp.escape).join('|') || '(?!)', 'gi');
}
