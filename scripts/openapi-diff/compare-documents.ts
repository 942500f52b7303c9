import { countLevels, type Difference, type Finding, foldFindings } from './change.ts';
import { compareAuthorization } from './compare-authorization.ts';
import { compareParameters } from './compare-parameters.ts';
import { compareRequestBodies, compareResponses } from './compare-responses.ts';
import { alignPrefixes, compareServers, withoutNames } from './compare-servers.ts';
import {
  childOf,
  childrenOf,
  exists,
  isTrue,
  type Located,
  nothingIn,
  type OpenApiDocument,
  pathItemAt,
  rootOf,
  textOf,
} from './document.ts';
import { isObject, isSame, type Json, matchKeys, memberOf, quote } from './json.ts';
import { both, compareDeprecation, followed, matchParts, type Part, partAt, partsAt, tell } from './part.ts';
import { beginComparison } from './schema/compare-schemas.ts';
import { identityAt } from './schema/write-schema.ts';

export function compareDocuments(oldDocument: OpenApiDocument, newDocument: OpenApiDocument): Difference {
  const [base, head] = alignPrefixes(rootOf(oldDocument), rootOf(newDocument));
  const findings: Finding[] = [];
  const report = (finding: Finding) => findings.push(finding);
  const schemas = {
    request: beginComparison(base, head, 'request'),
    response: beginComparison(base, head, 'response'),
  };

  const root = { schemas, report, base, head, operation: '', where: '', isReceived: false, isError: false };
  comparePathItems(partAt(root, 'paths'), '');
  comparePathItems({ ...partAt(root, 'webhooks'), isReceived: true }, 'webhook ');
  compareSchemaNames(root);
  const changes = foldFindings(findings);
  const descriptions = countDescriptions(base.value, head.value);
  return { base: oldDocument.name, head: newDocument.name, ...countLevels(changes), descriptions, changes };
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

/** Compares the names of schemas. Generated clients use these names as type names, but requests do not contain them. */
function compareSchemaNames(root: Part): void {
  const { base, head } = root.schemas.response;
  const all = partsAt(partAt(root, 'components'), 'schemas');
  const added = all.filter(([, one]) => !exists(one.base));
  for (const [name, schema] of all) {
    if (exists(schema.head) || !exists(schema.base)) continue;
    const identity = identityAt(base, [schema.base]);
    const renamed = added.find(([, other]) => identityAt(head, [other.head]) === identity);
    const message = `The schema ${quote(name)} is ${renamed ? `now called ${quote(renamed[0])}` : 'gone'}.`;
    tell({ ...schema, head: (renamed?.[1] ?? schema).head }, 'schema-name-removed', message);
  }
}

const descriptive = new Set(['description', 'summary', 'title', 'example', 'examples', 'tags', 'externalDocs']);

/** Counts the descriptive texts that differ. Compares only places that both documents have. */
function countDescriptions(base: Json | undefined, head: Json | undefined): number {
  if (Array.isArray(base) && Array.isArray(head)) {
    return base.reduce<number>((sum, one, n) => sum + countDescriptions(one, head[n]), 0);
  }
  if (!isObject(base) || !isObject(head)) return 0;
  let count = 0;
  for (const key of new Set([...Object.keys(base), ...Object.keys(head)])) {
    const [one, other] = [memberOf(base, key), memberOf(head, key)];
    // A field of a schema may have the name `title`. The value is then a schema and not a descriptive text.
    const isDescriptive =
      descriptive.has(key) && !(isObject(one ?? other ?? null) && key !== 'example' && key !== 'examples');
    if (isDescriptive) count += isSame(one, other) ? 0 : 1;
    else count += countDescriptions(one, other);
  }
  return count;
}
