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
  type Located,
  type OpenApiDocument,
  pathItemAt,
  pointerTo,
  textOf,
} from './document.ts';
import { quote } from './sentence.ts';

export function compareOperations(comparison: Comparison): void {
  const [base, head] = [comparison.base.root, comparison.head.root];
  const paths = { base: childOf(base, 'paths') ?? base, head: childOf(head, 'paths') ?? head };
  comparePaths(comparison, paths);
  compareReceived(comparison, '', {
    base: childOf(base, 'webhooks') ?? { value: {}, pointer: base.pointer },
    head: childOf(head, 'webhooks') ?? { value: {}, pointer: head.pointer },
  });
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

function operationsOf(item: Located | undefined): Map<string, Located> {
  const listed = childrenOf(item).filter(([method]) => methods.includes(method));
  return new Map([...listed, ...childrenOf(childOf(item, 'additionalOperations'))]);
}

/**
 * Returns a path without the names of its parameters. Two paths that differ only in these names are the same for the
 * server.
 */
function templateOf(path: string): string {
  return path.replace(/\{[^}]*\}/g, '{}');
}

function pathsOf(document: OpenApiDocument): Map<string, { path: string; item: Located }> {
  const paths = childrenOf(childOf(document.root, 'paths')).filter(([path]) => path.startsWith('/'));
  return new Map(
    paths.map(([listed, item]) => {
      const path = `${document.pathPrefix}${listed}`;
      return [templateOf(path), { path, item: pathItemAt(document, item) }];
    }),
  );
}

function comparePaths(comparison: Comparison, around: Pair): void {
  const [had, has] = [pathsOf(comparison.base), pathsOf(comparison.head)];
  for (const [template, { path, item }] of had) {
    const other = has.get(template);
    if (other === undefined) {
      for (const method of operationsOf(item).keys()) {
        const place = placeOf(comparison, `${method.toUpperCase()} ${path}`);
        tell(place, 'path-removed', `The path ${quote(path)} is gone.`, { base: item, head: around.head });
      }
    } else {
      comparePathItems(comparison, { base: path, head: other.path }, { base: item, head: other.item });
    }
  }
  for (const [template, { path, item }] of has) {
    if (had.has(template)) continue;
    for (const method of operationsOf(item).keys()) {
      const place = placeOf(comparison, `${method.toUpperCase()} ${path}`);
      tell(place, 'path-added', `The path ${quote(path)} is new.`, { base: around.base, head: item });
    }
  }
}

function placeOf(comparison: Comparison, operation: string): Place {
  return { comparison, operation, where: '', isReceived: false, isError: false };
}

function comparePathItems(comparison: Comparison, path: { base: string; head: string }, items: Pair): void {
  const [had, has] = [operationsOf(items.base), operationsOf(items.head)];
  for (const [method, operation] of had) {
    const place = placeOf(comparison, `${method.toUpperCase()} ${path.base}`);
    const other = has.get(method);
    if (other === undefined) {
      const note = childOf(operation, 'deprecated')?.value === true ? ', after it was deprecated' : '';
      const pair = { base: operation, head: items.head };
      tell(place, 'operation-removed', `${place.operation} is gone${note}.`, pair);
      continue;
    }
    const pair = { base: operation, head: other };
    compareServers(place, items, pair);
    compareAuthorization(place, pair);
    compareOperation(place, path, items, pair);
  }
  for (const [method, operation] of has) {
    if (had.has(method)) continue;
    const place = placeOf(comparison, `${method.toUpperCase()} ${path.head}`);
    tell(place, 'operation-added', `${place.operation} is new.`, { base: items.base, head: operation });
  }
}

function compareOperation(place: Place, path: { base: string; head: string }, items: Pair, pair: Pair): void {
  const [id, newId] = [textOf(pair.base, 'operationId'), textOf(pair.head, 'operationId')];
  if (id !== undefined && id !== newId) {
    const message = `The operation ${quote(id)} ${newId === undefined ? 'no longer has an id' : `is now called ${quote(newId)}`}.`;
    tell(place, 'operation-id-changed', message, pair);
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
    compareReceived(comparison, `${place.operation} callback ${name} `, {
      base: at(comparison.base, pair.base, name),
      head: at(comparison.head, pair.head, name),
    });
  }
}

/** Compares webhooks or callbacks, which the client receives. */
function compareReceived(comparison: Comparison, prefix: string, around: Pair): void {
  const [had, has] = [childrenOf(around.base), childrenOf(around.head)];
  const kind = prefix === '' ? 'webhook ' : prefix;
  for (const [name, item] of had) {
    const other = has.find(([one]) => one === name)?.[1];
    const items = {
      base: pathItemAt(comparison.base, item),
      head: pathItemAt(comparison.head, other) ?? { value: {}, pointer: around.head.pointer },
    };
    for (const [method, operation] of operationsOf(items.base)) {
      const place: Place = { ...placeOf(comparison, `${kind}${name}`), isReceived: true };
      const otherOperation = operationsOf(items.head).get(method);
      if (otherOperation === undefined) {
        const pair = { base: operation, head: items.head };
        tell(place, 'webhook-removed', `The ${place.operation} is no longer sent.`, pair);
        continue;
      }
      const pair = { base: operation, head: otherOperation };
      compareWebhookSecurity(place, pair);
      compareOperation(place, { base: '', head: '' }, items, pair);
    }
  }
  for (const [name, item] of has) {
    const known = pathItemAt(comparison.base, had.find(([one]) => one === name)?.[1]);
    for (const [method, operation] of operationsOf(pathItemAt(comparison.head, item))) {
      if (operationsOf(known).has(method)) continue;
      const place = placeOf(comparison, `${kind}${name}`);
      const pair = { base: known ?? around.base, head: operation };
      tell(place, 'webhook-added', `The ${place.operation} is new.`, pair);
    }
  }
}
