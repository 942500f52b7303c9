import { matchKeys, type Pair, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, itemsOf, type Located, type OpenApiDocument, textOf } from './document.ts';
import { isObject } from './json.ts';
import type { RuleId } from './rules/rules.ts';
import { quote } from './sentence.ts';

/**
 * Compares the servers of an operation. The operation's own servers come before the servers of its path and of the
 * document.
 */
export function compareServers(place: Place, items: Pair, operations: Pair): void {
  const { comparison } = place;
  const had = serversOf(comparison.base, operations.base, items.base);
  const has = serversOf(comparison.head, operations.head, items.head);
  for (const [, base, head] of matchKeys(had.servers, has.servers)) {
    const pair = { base: base ?? had.around, head: head ?? has.around };
    if (base && head) compareVariables(place, pair);
    else if (base && !isStillMade(base, has)) {
      tell(place, 'server-removed', `The server ${quote(urlOf(base))} is gone.`, pair);
    } else if (head && !isStillMade(head, had)) {
      tell(place, 'server-added', `The server ${quote(urlOf(head))} is new.`, pair);
    }
  }
}

interface Servers {
  /** The servers by their URLs without the names of variables, because requests do not contain these names. */
  servers: Map<string, Located>;
  around: Located;
}

function serversOf(document: OpenApiDocument, ...places: Located[]): Servers {
  const { root } = document;
  for (const place of [...places, root]) {
    const servers = itemsOf(childOf(place, 'servers')).map(server => withShortUrl(document, server));
    if (servers.length === 0) continue;
    const named = servers.map((server): [string, Located] => [withoutNames(urlOf(server)), server]);
    return { servers: new Map(named), around: childOf(place, 'servers') ?? place };
  }
  // Without any servers, the default is `/` on the host of the document (OpenAPI 3.1.1, section 4.8.1.1).
  return { servers: new Map([['/', root]]), around: root };
}

/** Removes the prefix of the paths from the URL of a server, because the paths begin with it. */
function withShortUrl({ pathPrefix }: OpenApiDocument, server: Located): Located {
  const url = urlOf(server);
  if (pathPrefix === '' || !isObject(server.value) || !url.endsWith(pathPrefix)) return server;
  return { ...server, value: { ...server.value, url: url.slice(0, -pathPrefix.length) || '/' } };
}

function urlOf(server: Located): string {
  return (textOf(server, 'url') ?? '/').replace(/(?<=.)\/$/, '');
}

/**
 * Splits a server's URL into parts: fixed texts, and the possible values of variables. An undefined part may have any
 * value.
 */
function partsOf(server: Located): (string[] | undefined)[] {
  const variables = childOf(server, 'variables');
  // After the split, fixed texts and names of variables alternate.
  const parts = urlOf(server).split(/\{([^}]*)\}/);
  return parts.map((part, n) => (n % 2 === 0 ? [part] : valuesOf(childOf(variables, part))));
}

/** The maximum number of URLs that one server with variables is expanded to. */
const mostAddresses = 1_000;

/** Whether other servers together include every URL of a server. */
function isStillMade(server: Located, { servers }: Servers): boolean {
  let addresses = [''];
  for (const values of partsOf(server)) {
    if (values === undefined || addresses.length * values.length > mostAddresses) return false;
    addresses = addresses.flatMap(address => values.map(value => address + value));
  }
  const patterns = [...servers.values()].map(other => {
    const parts = partsOf(other).map(values => (values ? `(?:${values.map(escapePattern).join('|')})` : '.*'));
    return new RegExp(`^${parts.join('')}$`, 's');
  });
  return addresses.every(address => patterns.some(pattern => pattern.test(address)));
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Compares the variables of a server's URL, by position. */
function compareVariables(place: Place, pair: Pair): void {
  const url = urlOf(pair.base);
  const newNames = namesIn(urlOf(pair.head));
  for (const [n, name] of namesIn(url).entries()) {
    const newName = newNames[n] ?? name;
    const variable = childOf(childOf(pair.base, 'variables'), name);
    const other = childOf(childOf(pair.head, 'variables'), newName);
    if (variable === undefined || other === undefined) continue;
    const tellOf = (rule: RuleId, what: string) =>
      tell(place, rule, `${quote(name)} of the server ${quote(url)} ${what}.`, { base: variable, head: other });
    if (name !== newName) tellOf('server-variable-renamed', `is now called ${quote(newName)}`);
    const [was, is] = [textOf(variable, 'default') ?? '', textOf(other, 'default') ?? ''];
    if (was !== is) tellOf('server-default-changed', `is ${quote(is)} by default instead of ${quote(was)}`);
    const [values, newValues] = [valuesOf(variable), valuesOf(other)];
    const isWithin = (some: string[] | undefined, others: string[] | undefined) =>
      others === undefined || (some?.every(value => others.includes(value)) ?? false);
    if (!isWithin(values, newValues)) tellOf('server-removed', 'accepts fewer values');
    else if (!isWithin(newValues, values)) tellOf('server-added', 'accepts more values');
  }
}

/** Lists the names in a path or URL such as `/ideas/{id}`. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
}

export function withoutNames(template: string): string {
  return template.replace(/\{[^}]*\}/g, '{}');
}

function valuesOf(variable: Located | undefined): string[] | undefined {
  const listed = childOf(variable, 'enum');
  return listed && itemsOf(listed).map(({ value }) => String(value));
}

/**
 * Moves the path of the server URLs into the paths if it differs between the documents. A request has the same URL if the
 * server is `https://example.com/v1` and the path is `/ideas`, or if the path is `/v1/ideas`.
 */
export function alignPrefixes(base: OpenApiDocument, head: OpenApiDocument): [OpenApiDocument, OpenApiDocument] {
  const [had, has] = [prefixOf(base), prefixOf(head)];
  if (had === has || had === undefined || has === undefined) return [base, head];
  // If the documents then have no path in common, the URLs of the servers contain another version of the API.
  const paths = new Set(childrenOf(childOf(base.root, 'paths')).map(([path]) => had + path));
  if (!childrenOf(childOf(head.root, 'paths')).some(([path]) => paths.has(has + path))) return [base, head];
  return [
    { ...base, pathPrefix: had },
    { ...head, pathPrefix: has },
  ];
}

/** Returns the path that all server URLs share. Returns undefined if they differ or depend on the operation. */
function prefixOf({ root }: OpenApiDocument): string | undefined {
  const items = childrenOf(childOf(root, 'paths')).map(([, item]) => item);
  const nodes = [...items, ...items.flatMap(item => childrenOf(item).map(([, operation]) => operation))];
  if (nodes.some(node => childOf(node, 'servers') !== undefined)) return undefined;
  const urls = itemsOf(childOf(root, 'servers')).map(server => textOf(server, 'url') ?? '/');
  const prefixes = new Set(urls.map(url => /^(?:[a-z]+:\/\/[^/]*)?(.*?)\/?$/i.exec(url)?.[1] ?? ''));
  const [prefix = '', ...others] = prefixes;
  return others.length > 0 || prefix.includes('{') ? undefined : prefix;
}
