import type { Turns } from './change.ts';
import { childOf, childrenOf, exists, follow, itemsOf, type Located, rootOf, textOf } from './document.ts';
import { canonicalText, isSame, type Json, quote } from './json.ts';
import { both, comparePresence, type Part, partAt, partsAt, tell } from './part.ts';

/** Compares the security requirements, the required grants and the rate limits of an operation. */
export function compareAuthorization(operation: Part): void {
  if (operation.isReceived) {
    // The top-level `security` of the document applies only to requests that clients send to the API.
    const security = partAt(operation, 'security');
    const isOther = !isSame(...both(security, ({ value }) => value ?? []));
    if (isOther) tell(security, 'webhook-security-changed', 'Its authentication changed.');
    return;
  }
  compareSecurity(operation);
  compareGrants(partAt(operation, 'x-grant'), 'The operation');
  for (const [key, grant] of partsAt(operation, 'x-grant-by-query')) {
    // The key is the name of a parameter, or the name with one of its values, such as `expand=votes`.
    const [name] = key.split('=');
    const [had, has] = both(operation, one =>
      itemsOf(childOf(one, 'parameters')).some(parameter => textOf(parameter, 'name') === name),
    );
    // Ignores the grant of a new parameter, because no client sends this parameter yet.
    if (!has || had) compareGrants(grant, `The query parameter ${key}`);
  }
  compareRates(operation);
}

function named(value: Json | undefined): string {
  return value === undefined ? 'none' : quote(String(value));
}

/** The grants that `x-grant` may require, the lowest first. No token has an unknown grant, so it counts as highest. */
const grants: readonly (Json | undefined)[] = [undefined, 'read', 'write', 'moderate'];

function compareGrants(grant: Part, subject: string): void {
  const [was, is] = both(grant, ({ value }) => value);
  if (isSame(was, is)) return;
  const [rank, newRank] = [was, is].map(one => [...grants, one].indexOf(one)) as [number, number];
  const rule = newRank >= rank ? 'grant-raised' : 'grant-lowered';
  tell(grant, rule, `${subject} needs the grant ${named(is)} instead of ${named(was)}.`);
}

function compareRates(operation: Part): void {
  const bucket = partAt(operation, 'x-bucket');
  const [name, newName] = both(bucket, ({ value }) => value);
  if (newName !== undefined && !isSame(name, newName)) {
    tell(bucket, 'bucket-changed', `Requests count against the limit ${named(newName)} instead of ${named(name)}.`);
  }
  const rate = partAt(operation, 'x-rate-limit');
  const [was, is] = both(rate, rateOf);
  if (was.text === is.text) return;
  // Another window with the same number of requests per second counts as a lower limit. For example, a longer window
  // allows a larger burst, but clients must then wait longer for the next burst.
  const rule = is.perSecond <= was.perSecond ? 'rate-limit-lowered' : 'rate-limit-raised';
  tell(rate, rule, `${is.text} are allowed instead of ${was.text}.`);
}

function rateOf(node: Located): { perSecond: number; text: string } {
  const [limit, seconds] = ['limit', 'windowSeconds'].map(key => childOf(node, key).value);
  if (typeof limit !== 'number' || typeof seconds !== 'number') {
    return { perSecond: Infinity, text: 'any number of requests' };
  }
  return { perSecond: limit / seconds, text: `${limit} requests in ${seconds} seconds` };
}

/** Compares lists of alternatives. A client must satisfy one alternative, which is a list of schemes with scopes. */
function compareSecurity(operation: Part): void {
  const [had, has] = both(operation, securityOf);
  const isMet = (one: Requirement[], by: Security) => by.alternatives.some(other => isEnough(one, other));
  const message = (what: string) => `${what}: ${nameSecurity(has)} instead of ${nameSecurity(had)}.`;
  const there = { ...operation, base: had.node, head: has.node };
  if (!had.alternatives.every(one => isMet(one, has))) {
    tell(there, 'security-tightened', message('The requirement is stricter'));
  } else if (!has.alternatives.every(one => isMet(one, had))) {
    tell(there, 'security-relaxed', message('The requirement is weaker'));
  }
  const after = new Map(has.alternatives.flat().map(one => [one.scheme, one.node]));
  for (const { scheme, name, node } of had.alternatives.flat()) {
    const head = after.get(scheme);
    if (head && textOf(node, 'type') === 'oauth2') compareFlows({ ...operation, base: node, head }, name);
  }
}

interface Requirement {
  /** A key of the security scheme that does not depend on the scheme's name in the document. */
  scheme: string;
  name: string;
  node: Located;
  scopes: string[];
}

interface Security {
  node: Located;
  alternatives: Requirement[][];
}

function securityOf(operation: Located): Security {
  const root = rootOf(operation.document);
  const own = childOf(operation, 'security');
  const node = exists(own) ? own : childOf(root, 'security');
  const schemes = childOf(childOf(root, 'components'), 'securitySchemes');
  const alternatives = itemsOf(node).map(alternative =>
    childrenOf(alternative).map(([name, scopes]): Requirement => {
      const scheme = follow(childOf(schemes, name));
      const texts = itemsOf(scopes).map(({ value }) => String(value));
      return { scheme: identityOf(scheme, name), name, node: scheme, scopes: texts };
    }),
  );
  // An empty list of requirements means the same as one alternative without security schemes.
  return { node, alternatives: alternatives.length === 0 ? [[]] : alternatives };
}

function identityOf(node: Located, name: string): string {
  const type = textOf(node, 'type');
  // The key of an OAuth scheme contains only its type and its name, because compareFlows() compares the OAuth flows.
  if (type === undefined || type === 'oauth2') return `${type} ${name}`;
  const textAt = (key: string) => textOf(node, key) ?? '';
  // Upper and lower case make no difference in the names of HTTP schemes and headers.
  const key = textAt('in') === 'header' ? textAt('name').toLowerCase() : textAt('name');
  return canonicalText([type, textAt('scheme').toLowerCase(), textAt('in'), textAt('openIdConnectUrl'), key]);
}

/** Whether credentials for the schemes in `sent` also satisfy the schemes in `needed`. */
function isEnough(sent: readonly Requirement[], needed: readonly Requirement[]): boolean {
  return needed.every(({ scheme, scopes }) =>
    sent.some(one => one.scheme === scheme && scopes.every(scope => one.scopes.includes(scope))),
  );
}

function nameSecurity({ alternatives }: Security): string {
  const nameOf = ({ name, scopes }: Requirement) => [quote(name), ...scopes].join(' ');
  return alternatives.map(all => all.map(nameOf).join(' with ') || 'nothing').join(' or ');
}

const turns: Turns = {
  removed: ['oauth-flow-changed', '{} is gone.'],
  added: ['oauth-flow-added', '{} is new.'],
};

function compareFlows(scheme: Part, name: string): void {
  for (const [key, listed] of partsAt(scheme, 'flows')) {
    const subject = `the flow ${key} of ${quote(name)}`;
    const flow = comparePresence(listed, turns, subject);
    if (flow === undefined) continue;
    for (const url of ['authorizationUrl', 'deviceAuthorizationUrl', 'tokenUrl', 'refreshUrl']) {
      const [was, is] = both(flow, node => textOf(node, url));
      if (was !== is) tell(flow, 'oauth-flow-changed', `the ${url} of ${subject} changed.`);
    }
    for (const [scope, one] of partsAt(flow, 'scopes')) {
      comparePresence(one, turns, `the scope ${quote(scope)} of ${subject}`);
    }
  }
}
