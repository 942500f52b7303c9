import { parse as parseYaml } from 'yaml';
import { isObject, type Json, memberOf } from './json.ts';
import { upgradeDocument } from './upgrade-document.ts';

/** A JSON value with its JSON pointer in the document. */
export interface Located {
  value: Json;
  pointer: string;
}

/** The error for a document that cannot be compared. Its message is one line with the document's name. */
export class DocumentError extends Error {}

export interface OpenApiDocument {
  /** The name that the caller gave to the document, for messages. */
  name: string;
  root: Located;
  /** The end of the server URLs that the comparison moves into the paths. */
  pathPrefix: string;
}

/** Parses an OpenAPI document in JSON or YAML. If the text is no such document, throws a DocumentError with the reason. */
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
  const upgraded = version.startsWith('3.0') ? upgradeDocument(value) : value;
  return { name, root: { value: upgraded, pointer: '#' }, pathPrefix: '' };
}

/** Parses JSON or YAML. JSON has a parser of its own, which is much faster. */
export function parseText(name: string, text: string): Json {
  // Removes a byte order mark, which is not part of the text (RFC 8259, section 8.1).
  const content = text.replace(/^\uFEFF/, '');
  try {
    return (/^\s*[{[]/.test(content) ? parseJson(content) : parseYaml(content)) as Json;
  } catch (error) {
    const reason = (error as Error).message.trim().replace(/\s+/g, ' ');
    throw new DocumentError(`${name} is neither JSON nor YAML (${reason})`);
  }
}

/** Parses a text that begins like JSON. A YAML document may also begin with a brace. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    try {
      return parseYaml(text);
    } catch {
      throw error;
    }
  }
}

export function childOf(node: Located | undefined, key: string): Located | undefined {
  const value = memberOf(node?.value, key);
  return node === undefined || value === undefined ? undefined : { value, pointer: pointerTo(node, key) };
}

/** Returns the members of an object, or an empty list for other values. */
export function childrenOf(node: Located | undefined): [string, Located][] {
  if (!isObject(node?.value)) return [];
  return Object.entries(node.value).map(([key, value]) => [key, { value, pointer: pointerTo(node, key) }]);
}

export function itemsOf(node: Located | undefined): Located[] {
  if (!Array.isArray(node?.value)) return [];
  return node.value.map((value, n) => ({ value, pointer: `${node.pointer}/${n}` }));
}

export function pointerTo(node: Located, key: string): string {
  return `${node.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Follows references until the value is not a reference. */
export function follow(document: OpenApiDocument, node: Located): Located;
export function follow(document: OpenApiDocument, node: Located | undefined): Located | undefined;
export function follow(document: OpenApiDocument, node: Located | undefined): Located | undefined {
  const passed = new Set<string>();
  let current = node;
  while (current !== undefined) {
    const reference = memberOf(current.value, '$ref');
    if (typeof reference !== 'string') return current;
    if (passed.has(current.pointer)) {
      throw new DocumentError(`${document.name}: the $ref at ${current.pointer} leads back to itself`);
    }
    passed.add(current.pointer);
    current = targetOf(document, reference, current.pointer);
  }
  return undefined;
}

/** Follows the reference of a path item, and merges the fields beside the reference (OpenAPI: Path Item Object). */
export function pathItemAt(document: OpenApiDocument, item: Located): Located {
  // Throws an error if the references form a cycle.
  const target = follow(document, item);
  const reference = textOf(item, '$ref');
  if (reference === undefined) return target;
  const { value, pointer } = pathItemAt(document, targetOf(document, reference, item.pointer));
  const members = [value, item.value].map(one => (isObject(one) ? one : {}));
  return { value: Object.fromEntries(members.flatMap(Object.entries).filter(([key]) => key !== '$ref')), pointer };
}

/** Returns the target of one reference. Only references within the document are supported. */
export function targetOf(document: OpenApiDocument, reference: string, from: string): Located {
  const problem = (what: string) => new DocumentError(`${document.name}: the $ref ${reference} at ${from} ${what}`);
  if (!reference.startsWith('#')) throw problem('leads out of the document: bundle it into one file first');
  if (reference !== '#' && !reference.startsWith('#/')) {
    const anchored = anchorsOf(document.root).get(reference.slice(1));
    if (anchored === undefined) throw problem('leads to no anchor');
    return anchored;
  }
  let node: Located = document.root;
  for (const token of reference.split('/').slice(1)) {
    const key = decodeToken(token);
    const next = key === undefined ? undefined : (childOf(node, key) ?? itemsOf(node)[Number(key)]);
    if (next === undefined) throw problem('leads nowhere');
    node = next;
  }
  return node;
}

const anchorsByRoot = new WeakMap<Located, Map<string, Located>>();

/** Returns all schemas with an anchor (`$anchor`, `$dynamicAnchor`) by the names of their anchors. */
function anchorsOf(root: Located): Map<string, Located> {
  const known = anchorsByRoot.get(root);
  if (known) return known;
  const anchors = new Map<string, Located>();
  const nodes = [root];
  // The loop also visits the nodes that it adds.
  for (const node of nodes) {
    for (const name of [textOf(node, '$anchor'), textOf(node, '$dynamicAnchor')]) {
      if (name !== undefined) anchors.set(name, node);
    }
    for (const [, child] of childrenOf(node)) nodes.push(child);
    for (const item of itemsOf(node)) nodes.push(item);
  }
  anchorsByRoot.set(root, anchors);
  return anchors;
}

function decodeToken(token: string): string | undefined {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

export function textOf(node: Located | undefined, key: string): string | undefined {
  const value = memberOf(node?.value, key);
  return typeof value === 'string' ? value : undefined;
}

export function isTrue(node: Located | undefined, key: string): boolean {
  return memberOf(node?.value, key) === true;
}
