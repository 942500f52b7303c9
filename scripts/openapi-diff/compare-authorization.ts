import { matchKeys, type Pair, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, follow, itemsOf, type Located, type OpenApiDocument, textOf } from './document.ts';
import { canonicalText, isSame } from './json.ts';
import { quote } from './sentence.ts';

/** Compares the security requirements, the required grants and the rate limits of an operation. */
export function compareAuthorization(place: Place, pair: Pair): void {
  compareSecurity(place, pair);
  compareGrants(place, 'The operation', pair, 'x-grant');
  compareGrantsByQuery(place, pair);
  compareBuckets(place, pair);
}

/**
 * Compares the authentication of a webhook. The top-level `security` of the document applies only to requests that
 * clients send to the API.
 */
export function compareWebhookSecurity(place: Place, pair: Pair): void {
  const [was, is] = [pair.base, pair.head].map(operation => (childOf(operation, 'security') ?? { value: [] }).value);
  if (!isSame(was, is)) tell(place, 'webhook-security-changed', 'Its authentication changed.', pair);
}

/** The token grants that `x-grant` may require, the lowest first. */
const grants = ['read', 'write', 'moderate'];

/** Returns the rank of a grant. An unknown grant ranks above all others, because no token has it. */
function levelOf(grant: string | undefined): number {
  return grant === undefined ? -1 : [...grants, grant].indexOf(grant);
}

function compareGrants(place: Place, subject: string, pair: Pair, key: string): void {
  const [was, is] = [pair.base, pair.head].map(node => {
    const value = childOf(node, key)?.value;
    return value === undefined ? undefined : String(value);
  });
  if (was === is) return;
  const text = (grant: string | undefined) => (grant === undefined ? 'none' : quote(grant));
  const message = `${subject} needs the grant ${text(is)} instead of ${text(was)}.`;
  tell(place, levelOf(is) >= levelOf(was) ? 'grant-raised' : 'grant-lowered', message, pair);
}

/** A key is the name of a parameter, or the name with one of its values, such as `expand=votes`. */
function compareGrantsByQuery(place: Place, pair: Pair): void {
  const [base, head] = [queryGrantsOf(pair.base), queryGrantsOf(pair.head)];
  for (const [key] of matchKeys(childrenOf(base), childrenOf(head))) {
    const [name = key] = key.split('=');
    // No client sends a new parameter yet, so its grant refuses no request that was allowed before.
    if (hasParameter(pair.head, name) && !hasParameter(pair.base, name)) continue;
    compareGrants(place, `The query parameter ${key}`, { base, head }, key);
  }
}

function hasParameter(operation: Located, name: string): boolean {
  return itemsOf(childOf(operation, 'parameters')).some(parameter => textOf(parameter, 'name') === name);
}

function queryGrantsOf(operation: Located): Located {
  return childOf(operation, 'x-grant-by-query') ?? { ...operation, value: {} };
}

function compareBuckets(place: Place, pair: Pair): void {
  const [bucket, newBucket] = [pair.base, pair.head].map(node => childOf(node, 'x-bucket')?.value);
  if (newBucket !== undefined && bucket !== newBucket) {
    const [was, is] = [bucket === undefined ? 'none' : quote(String(bucket)), quote(String(newBucket))];
    tell(place, 'bucket-changed', `Requests count against the limit ${is} instead of ${was}.`, pair);
  }
  const [rate, newRate] = [rateOf(pair.base), rateOf(pair.head)];
  if (isSame(rate?.value, newRate?.value)) return;
  const message = `${textOfRate(newRate)} are allowed instead of ${textOfRate(rate)}.`;
  const isLower = (newRate?.perSecond ?? Infinity) < (rate?.perSecond ?? Infinity);
  // With the same rate but a longer window, clients may send a larger burst, but must then wait longer for the next
  // one.
  const isSameRate = newRate?.perSecond === rate?.perSecond;
  tell(place, isLower || isSameRate ? 'rate-limit-lowered' : 'rate-limit-raised', message, pair);
}

interface Rate extends Located {
  limit: number;
  windowSeconds: number;
  perSecond: number;
}

function rateOf(operation: Located): Rate | undefined {
  const node = childOf(operation, 'x-rate-limit');
  const [limit, windowSeconds] = ['limit', 'windowSeconds'].map(key => childOf(node, key)?.value);
  if (node === undefined || typeof limit !== 'number' || typeof windowSeconds !== 'number') return undefined;
  return { ...node, limit, windowSeconds, perSecond: limit / windowSeconds };
}

function textOfRate(rate: Rate | undefined): string {
  return rate === undefined ? 'any number of requests' : `${rate.limit} requests in ${rate.windowSeconds} seconds`;
}

/**
 * Compares security requirements. A requirement lists alternatives of schemes with scopes, and a client must satisfy
 * one alternative.
 */
function compareSecurity(place: Place, pair: Pair): void {
  const { comparison } = place;
  const had = securityOf(comparison.base, pair.base);
  const has = securityOf(comparison.head, pair.head);
  const lost = had.alternatives.filter(one => !has.alternatives.some(other => isEnough(one, other)));
  const gained = has.alternatives.filter(other => !had.alternatives.some(one => isEnough(other, one)));
  const at = { base: had.node, head: has.node };
  const message = (what: string) => `${what}: ${nameSecurity(has)} instead of ${nameSecurity(had)}.`;
  if (lost.length > 0) tell(place, 'security-tightened', message('The requirement is stricter'), at);
  else if (gained.length > 0) tell(place, 'security-relaxed', message('The requirement is weaker'), at);
  compareFlows(place, had, has);
}

/** A security scheme with an identity that does not depend on the scheme's name in the document. */
interface Requirement {
  scheme: string;
  name: string;
  node: Located;
  scopes: string[];
}

interface Security {
  node: Located;
  alternatives: Requirement[][];
}

function securityOf(document: OpenApiDocument, operation: Located): Security {
  const node = childOf(operation, 'security') ?? childOf(document.root, 'security') ?? document.root;
  const alternatives = itemsOf(node).map(alternative =>
    childrenOf(alternative).map(([name, scopes]): Requirement => {
      const schemes = childOf(childOf(document.root, 'components'), 'securitySchemes');
      const scheme = follow(document, childOf(schemes, name)) ?? { value: {}, pointer: document.root.pointer };
      return {
        scheme: identityOf(scheme, name),
        name,
        node: scheme,
        scopes: itemsOf(scopes).map(({ value }) => String(value)),
      };
    }),
  );
  // An empty list of requirements means the same as one alternative without schemes.
  return { node, alternatives: alternatives.length === 0 ? [[]] : alternatives };
}

function identityOf(node: Located, name: string): string {
  const type = textOf(node, 'type');
  // The flows of an OAuth scheme are compared separately, so its identity is only its name.
  if (type === undefined || type === 'oauth2') return `${type} ${name}`;
  const [scheme, place, url, parameter] = ['scheme', 'in', 'openIdConnectUrl', 'name'].map(
    key => textOf(node, key) ?? null,
  );
  // The names of HTTP schemes and of headers are in any case.
  const key = place === 'header' ? parameter?.toLowerCase() : parameter;
  return canonicalText([type, scheme?.toLowerCase() ?? null, place ?? null, url ?? null, key ?? null]);
}

/** Whether credentials for the first list of schemes also satisfy the second list. */
function isEnough(sent: readonly Requirement[], needed: readonly Requirement[]): boolean {
  return needed.every(({ scheme, scopes }) =>
    sent.some(one => one.scheme === scheme && scopes.every(scope => one.scopes.includes(scope))),
  );
}

function nameSecurity({ alternatives }: Security): string {
  const texts = alternatives.map(all =>
    all.length === 0 ? 'nothing' : all.map(({ name, scopes }) => [quote(name), ...scopes].join(' ')).join(' with '),
  );
  return texts.join(' or ');
}

function compareFlows(place: Place, had: Security, has: Security): void {
  const after = new Map(has.alternatives.flat().map(one => [one.scheme, one.node]));
  for (const { scheme, name, node } of had.alternatives.flat()) {
    const other = after.get(scheme);
    if (other && textOf(node, 'type') === 'oauth2') compareOAuthScheme(place, name, { base: node, head: other });
  }
}

function compareOAuthScheme(place: Place, name: string, pair: Pair): void {
  const flowsOf = (scheme: Located) => childrenOf(childOf(scheme, 'flows'));
  const scopesOf = (flow: Located) => childrenOf(childOf(flow, 'scopes'));
  for (const [flow, was, is] of matchKeys(flowsOf(pair.base), flowsOf(pair.head))) {
    const subject = `the flow ${flow} of ${quote(name)}`;
    const tellOf = (turn: 'changed' | 'added', message: string) =>
      tell(place, `oauth-flow-${turn}`, message, { base: was ?? pair.base, head: is ?? pair.head });
    if (was === undefined) tellOf('added', `${subject} is new.`);
    else if (is === undefined) tellOf('changed', `${subject} is gone.`);
    if (was === undefined || is === undefined) continue;
    for (const key of ['authorizationUrl', 'deviceAuthorizationUrl', 'tokenUrl', 'refreshUrl']) {
      if (textOf(was, key) !== textOf(is, key)) tellOf('changed', `the ${key} of ${subject} changed.`);
    }
    for (const [scope, had, has] of matchKeys(scopesOf(was), scopesOf(is))) {
      if (!has) tellOf('changed', `the scope ${quote(scope)} of ${subject} is gone.`);
      else if (!had) tellOf('added', `the scope ${quote(scope)} of ${subject} is new.`);
    }
  }
}
