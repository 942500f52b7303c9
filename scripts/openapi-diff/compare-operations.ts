import { compareAuthorization, compareWebhookSecurity } from './compare-authorization.ts';
import { compareRequestBodies } from './compare-bodies.ts';
import { compareParameters } from './compare-parameters.ts';
import { compareResponses } from './compare-responses.ts';
import { compareServers } from './compare-servers.ts';
import { type Comparison, compareDeprecation, type Pair, type Place, tell } from './comparison.ts';
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
  for (const key of new Set([...had.keys(), ...has.keys()])) {
    const [was, is] = [had.get(key), has.get(key)];
    const items = { base: was?.item ?? around.base, head: is?.item ?? around.head };
    const [before, after] = [operationsOf(was?.item), operationsOf(is?.item)];
    for (const method of new Set([...before.keys(), ...after.keys()])) {
      const [base, head] = [before.get(method), after.get(method)];
      const path = (base ? was?.path : is?.path) ?? '';
      const operation = isReceived ? `${received}${path}` : `${method.toUpperCase()} ${path}`;
      const place = { comparison, operation, where: '', isReceived, isError: false };
      const paths = isReceived ? { base: '', head: '' } : { base: path, head: is?.path ?? '' };
      if (base && head) compareOperation(place, paths, items, { base, head });
      else if (!isReceived && (!was || !is)) tellOfPath(place, path, items, is !== undefined);
      else if (base) tellOfRemoved(place, { base, head: items.head });
      else if (head) tellOfAdded(place, { base: items.base, head });
    }
  }
}

function tellOfPath(place: Place, path: string, items: Pair, isAdded: boolean): void {
  if (isAdded) tell(place, 'path-added', `The path ${quote(path)} is new.`, items);
  else tell(place, 'path-removed', `The path ${quote(path)} is gone.`, items);
}

function tellOfRemoved(place: Place, pair: Pair): void {
  const note = isTrue(pair.base, 'deprecated') ? ', after it was deprecated' : '';
  if (place.isReceived) tell(place, 'webhook-removed', `The ${place.operation} is no longer sent.`, pair);
  else tell(place, 'operation-removed', `${place.operation} is gone${note}.`, pair);
}

function tellOfAdded(place: Place, pair: Pair): void {
  if (place.isReceived) tell(place, 'webhook-added', `The ${place.operation} is new.`, pair);
  else tell(place, 'operation-added', `${place.operation} is new.`, pair);
}

/**
 * Returns path items by their paths without the names of parameters. Two paths that differ only in these names are the
 * same for the server. Names of webhooks and callbacks have no parameters.
 */
function pathItemsIn(
  document: OpenApiDocument,
  around: Located,
  isReceived: boolean,
): Map<string, { path: string; item: Located }> {
  const listed = childrenOf(around).filter(([path]) => isReceived || path.startsWith('/'));
  return new Map(
    listed.map(([name, item]) => {
      const path = isReceived ? name : `${document.pathPrefix}${name}`;
      const key = isReceived ? name : path.replace(/\{[^}]*\}/g, '{}');
      return [key, { path, item: pathItemAt(document, item) }];
    }),
  );
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

function operationsOf(item: Located | undefined): Map<string, Located> {
  const listed = childrenOf(item).filter(([method]) => methods.includes(method));
  return new Map([...listed, ...childrenOf(childOf(item, 'additionalOperations'))]);
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
  const { comparison } = place;
  const at = (document: OpenApiDocument, operation: Located, name: string) =>
    follow(document, childOf(childOf(operation, 'callbacks'), name)) ?? {
      value: {},
      pointer: pointerTo(operation, 'callbacks'),
    };
  const names = [pair.base, pair.head].flatMap(one => childrenOf(childOf(one, 'callbacks')).map(([name]) => name));
  for (const name of new Set(names)) {
    const around = { base: at(comparison.base, pair.base, name), head: at(comparison.head, pair.head, name) };
    comparePathItems(comparison, around, `${place.operation} callback ${name} `);
  }
}
