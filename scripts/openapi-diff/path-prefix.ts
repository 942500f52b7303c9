import { childOf, childrenOf, itemsOf, type OpenApiDocument, textOf } from './document.ts';

/**
 * Moves the path of the server URLs into the paths if it differs between the documents. A request has the same URL if the
 * server is `https://example.com/v1` and the path is `/ideas`, or if the path is `/v1/ideas`.
 */
export function alignPrefixes(base: OpenApiDocument, head: OpenApiDocument): [OpenApiDocument, OpenApiDocument] {
  const [had, has] = [prefixOf(base), prefixOf(head)];
  if (had === has || had === undefined || has === undefined) return [base, head];
  // If the documents then have no path in common, the version in the URLs of the servers is another one.
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

/** Removes the prefix from the URL of a server, because the paths begin with it. */
export function withoutPrefix({ pathPrefix }: OpenApiDocument, url: string): string {
  return pathPrefix !== '' && url.endsWith(pathPrefix) ? url.slice(0, -pathPrefix.length) || '/' : url;
}
