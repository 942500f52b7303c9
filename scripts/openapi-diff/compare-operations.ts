import { compareAuthorization } from './compare-authorization.ts';
import { compareParameters } from './compare-parameters.ts';
import { compareRequestBodies, compareResponses } from './compare-responses.ts';
import { compareServers, withoutNames } from './compare-servers.ts';
import { both, compareDeprecation, followed, matchParts, type Part, partAt, partsAt, tell } from './comparison.ts';
import { childOf, childrenOf, exists, isTrue, type Located, nothingIn, pathItemAt, textOf } from './document.ts';
import { matchKeys } from './json.ts';
import { quote } from './sentence.ts';

/** Compares all paths and webhooks of two documents. */
export function compareOperations(root: Part): void {
  comparePathItems(partAt(root, 'paths'), '');
  comparePathItems({ ...partAt(root, 'webhooks'), isReceived: true }, 'webhook ');
}

/** Compares the operations in path items. In messages, the names of webhooks and callbacks begin with `prefix`. */
function comparePathItems(around: Part, prefix: string): void {
  const { isReceived } = around;
  for (const [, was, is] of matchKeys(...both(around, node => pathItemsIn(node, isReceived)))) {
    const [base, head] = [was?.item ?? nothingIn(around.base), is?.item ?? nothingIn(around.head)];
    const items = { ...around, base, head };
    for (const [method, listed] of matchParts(items, both(items, operationsOf))) {
      const path = (exists(listed.base) ? was?.path : is?.path) ?? '';
      const name = isReceived ? `${prefix}${path}` : `${method.toUpperCase()} ${path}`;
      const operation = { ...listed, operation: name };
      const turn = exists(listed.base) ? 'removed' : 'added';
      if (exists(listed.base) && exists(listed.head)) {
        compareOperation(operation, items, [was?.path ?? '', is?.path ?? '']);
      } else if (isReceived) {
        tell(operation, `webhook-${turn}`, `The ${name} is ${turn === 'added' ? 'new' : 'no longer sent'}.`);
      } else if (was && is) {
        const gone = `gone${isTrue(listed.base, 'deprecated') ? ', after it was deprecated' : ''}`;
        tell(operation, `operation-${turn}`, `${name} is ${turn === 'added' ? 'new' : gone}.`);
      } else {
        const message = `The path ${quote(path)} is ${turn === 'added' ? 'new' : 'gone'}.`;
        tell({ ...items, operation: name }, `path-${turn}`, message);
      }
    }
  }
}

/**
 * Lists path items by path. The keys omit the names of path parameters, because the server ignores these names. Names
 * of webhooks and callbacks have no parameters.
 */
function pathItemsIn(around: Located, isReceived: boolean): [string, { path: string; item: Located }][] {
  const listed = childrenOf(around).filter(([path]) => isReceived || path.startsWith('/'));
  return listed.map(([name, node]) => {
    const path = isReceived ? name : `${around.document.pathPrefix}${name}`;
    return [isReceived ? name : withoutNames(path), { path, item: pathItemAt(node) }];
  });
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

function operationsOf(item: Located): [string, Located][] {
  const listed = childrenOf(item).filter(([method]) => methods.includes(method));
  return [...listed, ...childrenOf(childOf(item, 'additionalOperations'))];
}

function compareOperation(operation: Part, items: Part, paths: readonly [string, string]): void {
  const [id, newId] = both(operation, node => textOf(node, 'operationId'));
  if (id !== undefined && id !== newId) {
    const what = newId === undefined ? 'no longer has an id' : `is now called ${quote(newId)}`;
    tell(operation, 'operation-id-changed', `The operation ${quote(id)} ${what}.`);
  }
  if (!operation.isReceived) compareServers(operation, items);
  compareAuthorization(operation);
  compareDeprecation(operation, operation.operation);
  compareParameters(operation, items, paths);
  compareRequestBodies(operation);
  compareResponses(operation);
  // A callback is a request that the server sends to a URL from the client's request.
  for (const [name, callback] of partsAt(operation, 'callbacks')) {
    comparePathItems({ ...followed(callback), isReceived: true }, `${operation.operation} callback ${name} `);
  }
}
