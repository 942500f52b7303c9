import { logLevels } from './log.ts';

interface Rule {
  /** A phrase that names the valid values. The phrase completes the error message "The option … must be …". */
  must: string;
  test(value: unknown): boolean;
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isFunction = (value: unknown) => typeof value === 'function';
const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const hasMethods = (value: unknown, ...names: string[]) =>
  isObject(value) && names.every(name => isFunction(value[name]));

const areHeaders = (value: object) => {
  try {
    return Boolean(new Headers(value as Record<string, string>));
  } catch {
    return false;
  }
};

const duration: Rule = { must: 'a number of milliseconds above 0', test: value => isNumber(value) && value > 0 };

/** The client sets these parts of a request itself. `fetchOptions` must not contain them. */
const ownParts = ['method', 'headers', 'body', 'signal', 'redirect'];

const hookNames = ['onRequest', 'onResponse', 'onRetry'];

/** The HTTP methods that `client.request()` accepts. */
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The validation rule of each option, except `baseUrl` and `token`. The class `Caller` validates these two options. */
const rules: Readonly<Record<string, Rule>> = {
  timeoutMs: duration,
  totalTimeoutMs: duration,
  maxRetries: { must: 'a whole number, 0 or more', test: value => Number.isInteger(value) && Number(value) >= 0 },
  maxRetryDelayMs: { must: 'a number of milliseconds, 0 or more', test: value => isNumber(value) && value >= 0 },
  board: { must: 'the slug of a board', test: isText },
  headers: { must: 'an object of valid header names and values', test: value => isObject(value) && areHeaders(value) },
  hooks: {
    must: `an object with the functions ${hookNames.join(', ')}`,
    test: value =>
      isObject(value) &&
      hookNames.every(name => value[name] === undefined || isFunction(value[name])) &&
      Object.keys(value).every(name => !/^on[A-Z]/.test(name) || hookNames.includes(name)),
  },
  fetch: { must: 'a function', test: isFunction },
  fetchOptions: {
    must: `an object without ${ownParts.join(', ')}`,
    test: value => isObject(value) && !ownParts.some(part => part in value),
  },
  validate: { must: 'a function', test: isFunction },
  cache: {
    must: 'true, false or an object with the functions get and set',
    test: value => typeof value === 'boolean' || hasMethods(value, 'get', 'set'),
  },
  logLevel: {
    must: `one of ${logLevels.join(', ')}`,
    test: value => (logLevels as readonly unknown[]).includes(value),
  },
  logger: {
    must: 'an object with the functions error, warn, info and debug',
    test: value => hasMethods(value, 'error', 'warn', 'info', 'debug'),
  },
  signal: { must: 'an AbortSignal', test: value => hasMethods(value, 'addEventListener', 'removeEventListener') },
  etag: { must: 'the ETag of a response', test: value => isText(value) && areHeaders({ 'If-None-Match': value }) },
  idempotencyKey: {
    must: 'a text of 1 to 255 printable ASCII characters without spaces',
    test: value => typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value),
  },
  limit: {
    must: 'a whole number above 0, or Infinity',
    test: value => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) > 0),
  },
  types: { must: 'an array of event types', test: Array.isArray },
  onCursor: { must: 'a function', test: isFunction },
  maxCharacters: { must: 'a number, 0 or more', test: value => isNumber(value) && value >= 0 },
  toleranceSeconds: { must: 'a number of seconds, 0 or more', test: value => isNumber(value) && value >= 0 },
  method: { must: `one of ${methods.join(', ')}`, test: value => methods.some(method => method === value) },
  path: { must: 'a text that is not empty', test: isText },
  id: { must: 'a text that is not empty', test: isText },
  timestamp: {
    must: 'a valid Date',
    test: value => hasMethods(value, 'getTime') && !Number.isNaN((value as Date).getTime()),
  },
};

/** Throws a TypeError if an option does not exist or has an invalid value. The value undefined is always valid. */
export function checkOptions(options: unknown, names: readonly string[]) {
  if (!isObject(options)) throw new TypeError('The options must be an object');
  for (const [name, value] of Object.entries(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`The option "${name}" does not exist. The options are ${names.join(', ')}.`);
    }
    const rule = rules[name];
    if (value === undefined || !rule || rule.test(value)) continue;
    // The error message quotes only numbers, because other values can be secrets.
    const given = isNumber(value) ? `, but is ${value}` : '';
    throw new TypeError(`The option "${name}" must be ${rule.must}${given}.`);
  }
}
