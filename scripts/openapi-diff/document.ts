import { isObject, type Json, memberOf } from './json.ts';

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
}

/** Parses an OpenAPI 3.1 document. If the text is no such document, throws a DocumentError with the reason. */
export function parseDocument(name: string, text: string): OpenApiDocument {
  let value: Json;
  try {
    // Removes a byte order mark, which is not part of the JSON text (RFC 8259, section 8.1).
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch (error) {
    const reason = (error as Error).message.replace(/\s+/g, ' ');
    const hint = /^\s*(#|---|openapi\s*:)/.test(text) ? ': it looks like YAML, which must be converted first' : '';
    throw new DocumentError(`${name} is not JSON${hint} (${reason})`);
  }
  if (!isObject(value)) throw new DocumentError(`${name} is not an OpenAPI document: it is not a JSON object`);
  const version = memberOf(value, 'openapi');
  if (typeof version !== 'string') {
    const swagger = memberOf(value, 'swagger');
    const found = swagger === undefined ? 'it has no "openapi" field' : `it is Swagger ${String(swagger)}`;
    throw new DocumentError(`${name} is not an OpenAPI 3.1 document: ${found}`);
  }
  if (!/^3\.1\.\d+/.test(version)) {
    throw new DocumentError(`${name} is OpenAPI ${version}: only 3.1 is supported`);
  }
  if (!['paths', 'webhooks', 'components'].some(key => isObject(memberOf(value, key)))) {
    throw new DocumentError(`${name} is not an OpenAPI 3.1 document: it has neither paths nor webhooks nor components`);
  }
  return { name, root: { value, pointer: '#' } };
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
export function pathItemAt(document: OpenApiDocument, item: Located): Located;
export function pathItemAt(document: OpenApiDocument, item: Located | undefined): Located | undefined;
export function pathItemAt(document: OpenApiDocument, item: Located | undefined): Located | undefined {
  const target = follow(document, item);
  const reference = textOf(item, '$ref');
  if (target === undefined || item === undefined || reference === undefined) return target;
  const { value, pointer } = pathItemAt(document, targetOf(document, reference, item.pointer));
  const members = [value, item.value].map(one => (isObject(one) ? one : {}));
  return { value: Object.fromEntries(members.flatMap(Object.entries).filter(([key]) => key !== '$ref')), pointer };
}

/** Returns the target of one reference. Only references within the document are supported. */
export function targetOf(document: OpenApiDocument, reference: string, from: string): Located {
  const problem = (what: string) => new DocumentError(`${document.name}: the $ref ${reference} at ${from} ${what}`);
  if (!reference.startsWith('#')) throw problem('leads out of the document: bundle it into one file first');
  if (reference !== '#' && !reference.startsWith('#/')) throw problem('is not a JSON pointer');
  let node: Located = document.root;
  for (const token of reference.split('/').slice(1)) {
    const key = decodeToken(token);
    const next = key === undefined ? undefined : stepInto(node, key);
    if (next === undefined) throw problem('leads nowhere');
    node = next;
  }
  return node;
}

function stepInto(node: Located, key: string): Located | undefined {
  return Array.isArray(node.value) ? itemsOf(node)[Number(key)] : childOf(node, key);
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
