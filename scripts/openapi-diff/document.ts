import { parse as parseYaml } from 'yaml';
import { isObject, type Json, type JsonObject, memberOf, remember } from './json.ts';
import { upgradeDocument } from './upgrade-document.ts';

/**
 * A part of a document. If the document lacks the part, `value` is undefined, and `pointer` is the JSON pointer of the
 * nearest parent.
 */
export interface Located {
  document: OpenApiDocument;
  value: Json | undefined;
  pointer: string;
}

/** The error for a document that cannot be compared. Its message is one line with the document's name. */
export class DocumentError extends Error {}

export interface OpenApiDocument {
  /** The name that the caller gave to the document, for messages. */
  name: string;
  value: JsonObject;
  /** The path that alignPrefixes() has moved from the server URLs into the paths of the operations. */
  pathPrefix: string;
}

/** Parses an OpenAPI document in JSON or YAML. Throws a DocumentError with the reason if the text is invalid. */
export function parseDocument(name: string, text: string): OpenApiDocument {
  const value = parseText(name, text);
  if (!isObject(value)) throw new DocumentError(`${name} is not an OpenAPI document: it is not an object`);
  const version = memberOf(value, 'openapi');
  if (typeof version !== 'string') {
    const swagger = memberOf(value, 'swagger');
    const found = swagger === undefined ? 'it has no "openapi" field' : `it is Swagger ${String(swagger)}`;
    throw new DocumentError(`${name} is not an OpenAPI 3 document: ${found}`);
  }
  if (!/^3\.[012]\.\d+/.test(version)) {
    throw new DocumentError(`${name} is OpenAPI ${version}: only 3.0, 3.1 and 3.2 are supported`);
  }
  if (!['paths', 'webhooks', 'components'].some(key => isObject(memberOf(value, key)))) {
    throw new DocumentError(`${name} is not an OpenAPI document: it has neither paths nor webhooks nor components`);
  }
  return { name, value: version.startsWith('3.0') ? upgradeDocument(value) : value, pathPrefix: '' };
}

/** Parses JSON or YAML. Tries the JSON parser first, because it is much faster than the YAML parser. */
export function parseText(name: string, text: string): Json {
  // Removes a byte order mark, which is not part of the text (RFC 8259, section 8.1).
  const content = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(content) as Json;
  } catch {
    // The text is not JSON, so it may be YAML.
  }
  try {
    return parseYaml(content) as Json;
  } catch (error) {
    const reason = (error as Error).message.trim().replace(/\s+/g, ' ');
    throw new DocumentError(`${name} is neither JSON nor YAML (${reason})`);
  }
}

/** Returns a text from an accept file or a usage document. Throws a DocumentError if the text is missing. */
export function requiredText(name: string, value: Json, key: string): string {
  const text = memberOf(value, key);
  if (typeof text !== 'string' || text === '') throw new DocumentError(`${name} lacks "${key}"`);
  return text;
}

export function rootOf(document: OpenApiDocument): Located {
  return { document, value: document.value, pointer: '#' };
}

export function exists({ value }: Located): boolean {
  return value !== undefined;
}

/** Returns a `Located` without a value, for a part that the document lacks. */
export function nothingIn({ document, pointer }: Located): Located {
  return { document, value: undefined, pointer };
}

export function childOf(node: Located, key: string): Located {
  const value = memberOf(node.value, key);
  return value === undefined ? nothingIn(node) : { document: node.document, value, pointer: pointerTo(node, key) };
}

/** Returns the members of an object, or an empty list for other values. */
export function childrenOf(node: Located): [string, Located][] {
  if (!isObject(node.value)) return [];
  const { document, value } = node;
  return Object.entries(value).map(([key, one]) => [key, { document, value: one, pointer: pointerTo(node, key) }]);
}

export function itemsOf({ document, value, pointer }: Located): Located[] {
  return Array.isArray(value) ? value.map((one, n) => ({ document, value: one, pointer: `${pointer}/${n}` })) : [];
}

function pointerTo(node: Located, key: string): string {
  return `${node.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Follows references until it finds a value that is not a reference. */
export function follow(node: Located, passed = new Set<string>()): Located {
  const reference = textOf(node, '$ref');
  if (reference === undefined) return node;
  if (passed.has(node.pointer)) {
    throw new DocumentError(`${node.document.name}: the $ref at ${node.pointer} leads back to itself`);
  }
  return follow(targetOf(node, reference), passed.add(node.pointer));
}

/** Follows the reference of a path item. Adds the fields beside the reference (OpenAPI: Path Item Object). */
export function pathItemAt(item: Located): Located {
  // follow() throws an error if the references form a cycle, so the recursion below ends.
  const target = follow(item);
  const reference = textOf(item, '$ref');
  if (reference === undefined || !isObject(item.value)) return target;
  const { $ref, ...others } = item.value;
  const { document, value, pointer } = pathItemAt(targetOf(item, reference));
  return { document, value: { ...(isObject(value) && value), ...others }, pointer };
}

/** Returns the target of a reference from this node. Throws an error for a reference to another document. */
export function targetOf({ document, pointer }: Located, reference: string): Located {
  const problem = (what: string) => new DocumentError(`${document.name}: the $ref ${reference} at ${pointer} ${what}`);
  if (!reference.startsWith('#')) throw problem('leads out of the document: bundle it into one file first');
  if (reference !== '#' && !reference.startsWith('#/')) {
    const anchored = anchorsOf(document).get(reference.slice(1));
    if (anchored === undefined) throw problem('leads to no anchor');
    return anchored;
  }
  let node = rootOf(document);
  for (const token of reference.split('/').slice(1)) {
    const key = decodeToken(token);
    const next =
      key === undefined ? nothingIn(node) : Array.isArray(node.value) ? itemsOf(node)[Number(key)] : childOf(node, key);
    if (next === undefined || !exists(next)) throw problem('leads nowhere');
    node = next;
  }
  return node;
}

const anchorsByDocument = new WeakMap<OpenApiDocument, Map<string, Located>>();

/** Returns all schemas with an anchor (`$anchor`, `$dynamicAnchor`) by the names of their anchors. */
function anchorsOf(document: OpenApiDocument): Map<string, Located> {
  return remember(anchorsByDocument, document, () => {
    const anchors = new Map<string, Located>();
    const nodes = [rootOf(document)];
    // The loop also visits the nodes that are added to the list while the loop runs.
    for (const node of nodes) {
      for (const name of [textOf(node, '$anchor'), textOf(node, '$dynamicAnchor')]) {
        if (name !== undefined) anchors.set(name, node);
      }
      nodes.push(...childrenOf(node).map(([, child]) => child), ...itemsOf(node));
    }
    return anchors;
  });
}

function decodeToken(token: string): string | undefined {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

export function textOf(node: Located, key: string): string | undefined {
  const value = memberOf(node.value, key);
  return typeof value === 'string' ? value : undefined;
}

export function isTrue(node: Located, key: string): boolean {
  return memberOf(node.value, key) === true;
}
