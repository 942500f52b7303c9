import { createHmac, randomBytes } from 'node:crypto';
import { isNativeError } from 'node:util/types';
import { settings as knownSettings } from '../config.ts';
import { describeError } from './describe-error.ts';
import { cutOff, decodeUrl, type HashText, maskAddresses } from './mask-addresses.ts';
import { cutText, isPlainId, isSecretHeader, isSecretName, redacted, redactSecrets } from './redact-secrets.ts';

/** Removes secrets and masks addresses in logs and error reports. */
export interface Redactor {
  /** Redacts a text. Redacting it again changes nothing, unless the text was cut. */
  text(text: string): string;
  /**
   * Returns any value as plain data for JSON, and leaves the value unchanged. Redacts all strings in it, also keys, and
   * replaces the fields that have the name of a secret. Handles errors, maps, sets and cycles.
   */
  value(value: unknown): unknown;
  /** The first 12 digits of the HMAC-SHA-256 under the application key, as the specification says. */
  hash: HashText;
}

export interface RedactorOptions {
  /** The application key, or a function that returns it when it is known. */
  appKey: Uint8Array | (() => Uint8Array);
  /** The settings. Their keys and passwords are removed from every text. */
  settings?: object;
  /** The extensions, whose settings also have keys and passwords. */
  extensions?: readonly { settings?: object | undefined }[];
}

/** Longer texts are cut. A stack of ten frames has half of this length. */
const maxTextLength = 4_096;
/** The limit for all texts of a value together. */
const maxCharacters = 8 * maxTextLength;
/** These limits keep a log line from becoming the dump of a socket. */
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
  // The code has few names of fields, and they recur in each line.
  const names = new Map<string, FieldName>();
  const nameOf = (name: string) => {
    const field = names.get(name) ?? { shown: text(name), isSecret: isSecretName(name) };
    if (names.size < maxCachedNames) names.set(name, field);
    return field;
  };
  return { text, hash, value: value => readValue(value, text, nameOf) };
}

/**
 * Builds the redactor for a process that failed to start: its settings may be invalid, and no application key is loaded.
 * Its hashes use a random key, so they match no others.
 */
export function buildEnvironmentRedactor(environment: NodeJS.ProcessEnv): Redactor {
  const isSetting = (name: string) => Object.hasOwn(knownSettings.shape, name) || name.startsWith('EXT_');
  const given = Object.entries(environment).filter(([name]) => isSetting(name));
  return buildRedactor({ appKey: randomBytes(32), settings: Object.fromEntries(given) });
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
    // Dates and URLs also have toJSON.
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

/** The keys and passwords in settings, in each form that a text may have. */
function secretsOf(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (value instanceof Uint8Array && isSecretName(name)) {
      const bytes = Buffer.from(value);
      return [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url'), bytes.toString('hex')];
    }
    if (typeof value !== 'string') return [];
    return (URL.canParse(value) ? secretsOfUrl(new URL(value)) : isSecretName(name) ? [value] : []).flatMap(secret => {
      const decoded = decodeUrl(secret, 1);
      return [secret, decoded, encodeURIComponent(decoded)];
    });
  });
}

/** A Sentry DSN has its key in the place of the user. */
function secretsOfUrl({ protocol, username, password, searchParams }: URL): string[] {
  return [password || (protocol.startsWith('http') ? username : ''), searchParams.get('password') ?? ''];
}

/**
 * Matches each of the secrets, the longest first. Without secrets it matches nothing. Skips short secrets and words, because
 * redacting them would damage ordinary sentences.
 */
function matchAny(secrets: string[]): RegExp {
  const hidden = secrets.filter(secret => secret.length >= 8 && !/^[a-z]+$/.test(secret));
  const longestFirst = hidden.sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(RegExp.escape).join('|') || '(?!)', 'gi');
}
