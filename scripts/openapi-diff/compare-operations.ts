import { compareAuthorization, compareWebhookSecurity } from './compare-authorization.ts';
import { compareRequestBodies } from './compare-bodies.ts';
import { compareParameters } from './compare-parameters.ts';
import { compareResponses } from './compare-responses.ts';
import { compareServers, withoutNames } from './compare-servers.ts';
import { type Comparison, compareDeprecation, matchKeys, type Pair, type Place, tell } from './comparison.ts';
import {
  childOf,
  childrenOf,
  follow,
  isTrue,
  type Located,
  type OpenApiDocument,
  pathItemAt,
  pointerTo,
  textOf,
} from './document.ts';
import { quote } from './sentence.ts';

export function compareOperations(comparison: Comparison): void {
  const partAt = ({ root }: OpenApiDocument, key: string) => childOf(root, key) ?? { value: {}, pointer: root.pointer };
  const at = (key: string) => ({ base: partAt(comparison.base, key), head: partAt(comparison.head, key) });
  comparePathItems(comparison, at('paths'), undefined);
  comparePathItems(comparison, at('webhooks'), 'webhook ');
}

/** Compares the operations in path items. `received` is the prefix of their names if the client receives them. */
function comparePathItems(comparison: Comparison, around: Pair, received: string | undefined): void {
  const isReceived = received !== undefined;
  const had = pathItemsIn(comparison.base, around.base, isReceived);
  const has = pathItemsIn(comparison.head, around.head, isReceived);
  for (const [, was, is] of matchKeys(had, has)) {
    const items = { base: was?.item ?? around.base, head: is?.item ?? around.head };
    for (const [method, base, head] of matchKeys(operationsOf(was?.item), operationsOf(is?.item))) {
      const path = (base ? was?.path : is?.path) ?? '';
      const operation = isReceived ? `${received}${path}` : `${method.toUpperCase()} ${path}`;
      const place = { comparison, operation, where: '', isReceived, isError: false };
      if (base && head) {
        const paths = isReceived ? { base: '', head: '' } : { base: path, head: is?.path ?? '' };
        compareOperation(place, paths, items, { base, head });
      } else if (!isReceived && (!was || !is)) {
        tell(place, is ? 'path-added' : 'path-removed', `The path ${quote(path)} is ${is ? 'new' : 'gone'}.`, items);
      } else {
        tellOfOperation(place, { base: base ?? items.base, head: head ?? items.head }, head !== undefined);
      }
    }
  }
}

function tellOfOperation(place: Place, pair: Pair, isAdded: boolean): void {
  const turn = isAdded ? 'added' : 'removed';
  if (place.isReceived) {
    tell(place, `webhook-${turn}`, `The ${place.operation} is ${isAdded ? 'new' : 'no longer sent'}.`, pair);
  } else {
    const note = isTrue(pair.base, 'deprecated') ? ', after it was deprecated' : '';
    tell(place, `operation-${turn}`, `${place.operation} is ${isAdded ? 'new' : `gone${note}`}.`, pair);
  }
}

/**
 * Returns path items by their paths without the names of parameters. Two paths that differ only in these names are the
 * same for the server. Names of webhooks and callbacks have no parameters.
 */
function pathItemsIn(
  document: OpenApiDocument,
  around: Located,
  isReceived: boolean,
): [string, { path: string; item: Located }][] {
  const listed = childrenOf(around).filter(([path]) => isReceived || path.startsWith('/'));
  return listed.map(([name, node]) => {
    const item = pathItemAt(document, node);
    if (isReceived) return [name, { path: name, item }];
    const path = `${document.pathPrefix}${name}`;
    return [withoutNames(path), { path, item }];
  });
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

function operationsOf(item: Located | undefined): [string, Located][] {
  const listed = childrenOf(item).filter(([method]) => methods.includes(method));
  return [...listed, ...childrenOf(childOf(item, 'additionalOperations'))];
}

function compareOperation(place: Place, path: { base: string; head: string }, items: Pair, pair: Pair): void {
  const [id, newId] = [textOf(pair.base, 'operationId'), textOf(pair.head, 'operationId')];
  if (id !== undefined && id !== newId) {
    const message = `The operation ${quote(id)} ${newId === undefined ? 'no longer has an id' : `is now called ${quote(newId)}`}.`;
    tell(place, 'operation-id-changed', message, pair);
  }
  if (place.isReceived) {
    compareWebhookSecurity(place, pair);
  } else {
    compareServers(place, items, pair);
    compareAuthorization(place, pair);
  }
  compareDeprecation(place, place.operation, pair);
  compareParameters(place, path, items, pair);
  compareRequestBodies(place, pair);
  compareResponses(place, pair);
  compareCallbacks(place, pair);
}

/** Compares the callbacks of an operation: requests that the server sends to a URL from the client's request. */
function compareCallbacks(place: Place, pair: Pair): void {
  const { comparison, operation } = place;
  const [had, has] = [childOf(pair.base, 'callbacks'), childOf(pair.head, 'callbacks')];
  const none = (one: Located) => ({ value: {}, pointer: pointerTo(one, 'callbacks') });
  for (const [name, was, is] of matchKeys(childrenOf(had), childrenOf(has))) {
    const base = follow(comparison.base, was) ?? none(pair.base);
    const head = follow(comparison.head, is) ?? none(pair.head);
    comparePathItems(comparison, { base, head }, `${operation} callback ${name} `);
  }
}
