import { type Change, countLevels, type Difference, isUnused, type Place } from './change.ts';
import { withoutNames } from './compare-servers.ts';
import { DocumentError, parseText, requiredText } from './document.ts';
import { type Json, memberOf, remember, sortedBy } from './json.ts';
import type { RuleId } from './rules.ts';

/** The operations that the clients of an API have used lately, from the file or URL of the option `--usage`. */
export interface Usage {
  /** The start of the period that the usage document covers. Undefined if the document does not name the start. */
  from: string | undefined;
  /** Whether the document lists every use in the period that it covers. */
  isComplete: boolean;
  uses: Use[];
}

/** An operation that one client has used. */
interface Use {
  client: string;
  /** The method and the path, such as `GET /api/v1/ideas/{id}`. */
  operation: string;
  lastUsedAt: string;
  /** The names of the parameters that the client has sent. Undefined if they are unknown. */
  parameters: string[] | undefined;
  /** The paths of the fields of the request body that the client has sent. Undefined if they are unknown. */
  fields: string[] | undefined;
}

/** The maximum length of a usage document in characters. */
const mostCharacters = 64 * 1024 * 1024;

/** Reads a usage document in JSON or YAML. Ignores unknown members of the document. */
export function parseUsage(name: string, text: string): Usage {
  if (text.length > mostCharacters) throw new DocumentError(`${name} has more than ${mostCharacters} characters`);
  const document = parseText(name, text);
  const uses = memberOf(document, 'uses');
  if (!Array.isArray(uses)) throw new DocumentError(`${name} is not a usage document: it has no list "uses"`);
  const from = memberOf(document, 'from');
  return {
    from: from === undefined ? undefined : timeOf(name, from),
    isComplete: memberOf(document, 'is_complete') !== false,
    uses: uses.map((use, n) => parseUse(`${name}: use ${n + 1}`, use)),
  };
}

function parseUse(name: string, use: Json): Use {
  const namesAt = (key: string) => {
    const value = memberOf(use, key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every(one => typeof one === 'string')) return value as string[];
    throw new DocumentError(`${name}: "${key}" is not a list of names`);
  };
  const operation = requiredText(name, use, 'operation');
  if (!operationPattern.test(operation)) {
    throw new DocumentError(`${name}: the operation "${operation}" is not a method and a path`);
  }
  const lastUsedAt = timeOf(name, requiredText(name, use, 'last_used_at'));
  const client = requiredText(name, use, 'client');
  return { client, operation, lastUsedAt, parameters: namesAt('parameters'), fields: namesAt('fields') };
}

function timeOf(name: string, value: Json): string {
  const time = new Date(String(value));
  if (Number.isNaN(time.getTime())) throw new DocumentError(`${name}: ${JSON.stringify(value)} is not a time`);
  return time.toISOString();
}

/** Matches operations that clients call, but not webhooks and callbacks. */
const operationPattern = /^[A-Z]+ \/\S*$/;

/**
 * Adds the affected clients to each breaking or risky change, unless the usage document has too little data. A change
 * that affects no client no longer counts, and moves to the end of the list.
 */
export function judgeByUsage(difference: Difference, { from, isComplete, uses }: Usage): Difference {
  const usesOf = findUses(uses);
  const judge = (change: Change): Change => {
    const isJudged = (change.level !== 'additive' || change.rule === 'deprecated') && change.places.length > 0;
    if (!isJudged) return change;
    const times = new Map<string, string>();
    const places = change.places.map(place => {
      if (!operationPattern.test(place.operation)) return place;
      const users = usesOf(place.operation).filter(use => isAffected(use, change.rule, place));
      for (const { client, lastUsedAt } of users) {
        if (lastUsedAt > (times.get(client) ?? '')) times.set(client, lastUsedAt);
      }
      return { ...place, clients: new Set(users.map(({ client }) => client)).size };
    });
    const isUnknown = !isComplete || places.some(({ clients }) => clients === undefined);
    if (times.size === 0 && isUnknown) return change;
    const latestFirst = sortedBy(times, ([, time]) => time).reverse();
    const clients = latestFirst.map(([client]) => client);
    // Puts the places with the most clients first, because the output for people shows only the first few places.
    places.sort((a, b) => (b.clients ?? 0) - (a.clients ?? 0));
    return { ...change, places, affected: { clients, lastUsedAt: latestFirst[0]?.[1], since: from } };
  };
  const judged = difference.changes.map(judge);
  const changes = [...judged.filter(change => !isUnused(change)), ...judged.filter(isUnused)];
  return { ...difference, ...countLevels(changes), changes };
}

/**
 * Returns a function that finds the uses of an operation. The path of the operation may also begin with a part of the
 * server's URL, which alignPrefixes() has moved there.
 */
function findUses(uses: readonly Use[]): (operation: string) => Use[] {
  const known = new Map<string, Use[]>();
  return operation =>
    remember(known, operation, () => {
      const [method, path = ''] = withoutNames(operation).split(' ');
      return uses.filter(use => {
        const [usedMethod, usedPath = ''] = withoutNames(use.operation).split(' ');
        return usedMethod === method && path.endsWith(usedPath);
      });
    });
}

/** The rules for changes that also affect clients that do not send the changed parameter, field or body. */
const rulesForAll: readonly RuleId[] = [
  'parameter-required',
  'request-field-required',
  'request-body-required',
  'request-default-changed',
];

/** Whether a change affects a client of the operation. Nobody knows which parts of a response a client reads. */
function isAffected({ parameters, fields }: Use, rule: RuleId, { where, field }: Place): boolean {
  if (rulesForAll.includes(rule)) return true;
  const [, parameter] = /^(?:query|header|cookie) parameter (.+)$/.exec(where) ?? [];
  if (parameter !== undefined) {
    return parameters?.some(one => one.toLowerCase() === parameter.toLowerCase()) ?? true;
  }
  // The field `*` stands for fields with any name.
  const [named = ''] = field.split(/\.?\*/);
  if (!where.startsWith('request body') || named === '') return true;
  return fields?.some(one => isWithin(one, named) || isWithin(named, one)) ?? true;
}

/** Whether a path leads to or into the value at another path. For example, `tags[].name` is within `tags`. */
function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}
