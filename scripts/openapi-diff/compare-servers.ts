import { childOf, childrenOf, exists, itemsOf, type Located, rootOf, textOf } from './document.ts';
import { quote } from './json.ts';
import { both, matchParts, type Part, tell } from './part.ts';
import type { RuleId } from './rules.ts';

/** Compares the servers of an operation, which override the servers of its path and of the document. */
export function compareServers(operation: Part, items: Part): void {
  const had = serversOf(operation.base, items.base);
  const has = serversOf(operation.head, items.head);
  const around = { ...operation, base: had.around, head: has.around };
  for (const [, server] of matchParts(around, [had.servers, has.servers])) {
    const [url, newUrl] = both(server, one => quote(urlOf(one)));
    const isBoth = exists(server.base) && exists(server.head);
    if (isBoth) compareVariables(server, url);
    if (exists(server.base) && !isStillMade(server.base, has.servers)) {
      const what = isBoth ? 'accepts fewer values for its variables' : 'is gone';
      tell(server, 'server-removed', `The server ${url} ${what}.`);
    } else if (exists(server.head) && !isStillMade(server.head, had.servers)) {
      const what = isBoth ? 'accepts more values for its variables' : 'is new';
      tell(server, 'server-added', `The server ${newUrl} ${what}.`);
    }
  }
}

/** Lists servers by URL. Names of variables are not part of these URLs, because requests do not contain the names. */
function serversOf(...places: [operation: Located, item: Located]): { servers: Map<string, Located>; around: Located } {
  const root = rootOf(places[0].document);
  const around = [...places, root].map(place => childOf(place, 'servers')).find(one => itemsOf(one).length > 0);
  // Without any servers, the default is `/` on the host of the document (OpenAPI 3.1.1, section 4.8.1.1).
  if (around === undefined) return { servers: new Map([['/', root]]), around: root };
  return { servers: new Map(itemsOf(around).map(server => [withoutNames(urlOf(server)), server])), around };
}

/** Returns the URL of a server, without the path that alignPrefixes() has moved into the paths of the operations. */
function urlOf(server: Located): string {
  const { pathPrefix } = server.document;
  const url = (textOf(server, 'url') ?? '/').replace(/(?<=.)\/$/, '');
  return pathPrefix !== '' && url.endsWith(pathPrefix) ? url.slice(0, -pathPrefix.length) || '/' : url;
}

/** The parts of a URL. Each part lists its possible texts. An undefined part may have any text. */
type UrlParts = (string[] | undefined)[];

function partsOf(server: Located): UrlParts {
  const variables = childOf(server, 'variables');
  // After the split, fixed texts and names of variables alternate, and a fixed text comes first.
  const parts = urlOf(server).split(/\{([^}]*)\}/);
  return parts.map((part, n) => {
    if (n % 2 === 0) return [part];
    const listed = childOf(childOf(variables, part), 'enum');
    return exists(listed) ? itemsOf(listed).map(({ value }) => String(value)) : undefined;
  });
}

/** The maximum number of URLs that the comparison builds from the variables of one server. */
const mostAddresses = 1_000;

/** Whether the servers in `servers` together include every URL of `server`. */
function isStillMade(server: Located, servers: ReadonlyMap<string, Located>): boolean {
  const parts = partsOf(server);
  const others = [...servers.values()].map(partsOf);
  if (others.some(other => isPartOf(parts, other))) return true;
  let addresses = [''];
  for (const values of parts) {
    if (values === undefined || addresses.length * values.length > mostAddresses) return false;
    addresses = addresses.flatMap(address => values.map(value => address + value));
  }
  const escapeRegExp = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const patterns = others.map(other => {
    const texts = other.map(values => (values ? `(?:${values.map(escapeRegExp).join('|')})` : '.*'));
    return new RegExp(`^${texts.join('')}$`, 's');
  });
  return addresses.every(address => patterns.some(pattern => pattern.test(address)));
}

/** Whether every value of each part in `parts` is also a value of the same part in `others`. */
function isPartOf(parts: UrlParts, others: UrlParts): boolean {
  const isWithin = (values: string[] | undefined, n: number) =>
    others[n] === undefined || (values?.every(value => others[n]?.includes(value)) ?? false);
  return parts.length === others.length && parts.every(isWithin);
}

/** Compares the names and the defaults of the variables at the same position of a server's URL. */
function compareVariables(server: Part, url: string): void {
  const [names, newNames] = both(server, one => namesIn(urlOf(one)));
  for (const [n, name] of names.entries()) {
    const newName = newNames[n] ?? name;
    const base = childOf(childOf(server.base, 'variables'), name);
    const head = childOf(childOf(server.head, 'variables'), newName);
    const tellOf = (rule: RuleId, what: string) =>
      tell({ ...server, base, head }, rule, `${quote(name)} of the server ${url} ${what}.`);
    if (name !== newName) tellOf('server-variable-renamed', `is now called ${quote(newName)}`);
    const [was, is] = [base, head].map(variable => textOf(variable, 'default') ?? '') as [string, string];
    if (was !== is) tellOf('server-default-changed', `is ${quote(is)} by default instead of ${quote(was)}`);
  }
}

/** Lists the names in braces in a path or URL, such as `id` in `/ideas/{id}`. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
}

export function withoutNames(template: string): string {
  return template.replace(/\{[^}]*\}/g, '{}');
}

/**
 * If the server URLs of the two documents have different paths, moves these paths into the paths of the operations. For
 * example, the server `https://example.com/v1` with the path `/ideas` and the server `https://example.com` with the
 * path `/v1/ideas` give the same URL.
 */
export function alignPrefixes(base: Located, head: Located): [base: Located, head: Located] {
  const [had, has] = [prefixOf(base), prefixOf(head)];
  if (had === has || had === undefined || has === undefined) return [base, head];
  // Without a common path after the move, the server URLs contain different versions of the API, so nothing moves.
  const paths = new Set(pathsOf(base).map(([path]) => had + path));
  if (!pathsOf(head).some(([path]) => paths.has(has + path))) return [base, head];
  return [rootOf({ ...base.document, pathPrefix: had }), rootOf({ ...head.document, pathPrefix: has })];
}

function pathsOf(root: Located): [string, Located][] {
  return childrenOf(childOf(root, 'paths'));
}

/** Returns the path that all server URLs share, unless a path or an operation has its own servers. */
function prefixOf(root: Located): string | undefined {
  const items = pathsOf(root).map(([, item]) => item);
  const nodes = [...items, ...items.flatMap(item => childrenOf(item).map(([, operation]) => operation))];
  if (nodes.some(node => exists(childOf(node, 'servers')))) return undefined;
  const urls = itemsOf(childOf(root, 'servers')).map(server => textOf(server, 'url') ?? '/');
  const prefixes = new Set(urls.map(url => /^(?:[a-z]+:\/\/[^/]*)?(.*?)\/?$/i.exec(url)?.[1] ?? ''));
  const [prefix = '', ...others] = prefixes;
  return others.length > 0 || prefix.includes('{') ? undefined : prefix;
}
