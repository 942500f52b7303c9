import { comparePresence, compareSchemasAt, type Pair, type Place, type PresenceRules, tell } from './comparison.ts';
import { childOf, childrenOf, follow, isTrue, type Located, type OpenApiDocument } from './document.ts';
import { isSame } from './json.ts';
import type { Direction } from './schema/shape.ts';
import { quote } from './sentence.ts';

const rulesOfRequests: PresenceRules = {
  removed: ['request-body-removed', 'The body is no longer accepted.'],
  optional: ['request-body-optional', 'The body is now optional.'],
  required: ['request-body-required', 'The body is now required.'],
  added: ['request-body-added', 'The optional body is new.'],
  addedRequired: ['request-body-required', 'A body is new and required.'],
};

const rulesOfWebhooks: PresenceRules = {
  removed: ['webhook-body-removed', 'The body is gone.'],
  optional: ['webhook-body-optional', 'The body is now optional.'],
  required: ['webhook-body-added', 'The body is now required.'],
  added: ['webhook-body-added', 'The body is new.'],
};

export function compareRequestBodies(place: Place, operations: Pair): void {
  const { comparison, isReceived } = place;
  const there = { ...place, where: isReceived ? 'body' : 'request body' };
  const base = follow(comparison.base, childOf(operations.base, 'requestBody'));
  const head = follow(comparison.head, childOf(operations.head, 'requestBody'));
  const [was, is] = [base, head].map(body => body && isTrue(body, 'required'));
  const pair = { base: base ?? operations.base, head: head ?? operations.head };
  comparePresence(there, isReceived ? rulesOfWebhooks : rulesOfRequests, '', was, is, pair);
  if (base && head) compareContents(there, pair, isReceived ? 'response' : 'request');
}

const schemas = [
  ['the body', 'schema'],
  ['an item of the body', 'itemSchema'],
] as const;
const encodings = ['encoding', 'prefixEncoding', 'itemEncoding'];

export function compareContents(place: Place, pair: Pair, direction: Direction): void {
  const { comparison } = place;
  const [had, has] = [contentsOf(comparison.base, pair.base), contentsOf(comparison.head, pair.head)];
  const tellOfType = (turn: 'removed' | 'added', type: string, at: Pair) => {
    const isWebhook = place.isReceived && direction === 'response';
    const rule = isWebhook ? 'webhook-media-type-changed' : (`${direction}-media-type-${turn}` as const);
    tell(place, rule, `The media type ${quote(type)} is ${turn === 'added' ? 'new' : 'gone'}.`, at);
  };
  const matched = new Set<string>();
  for (const [type, media] of had) {
    const other = has.has(type) ? type : [...has.keys()].find(one => isWithin(direction, type, one));
    const node = has.get(other ?? '');
    if (other === undefined || node === undefined) {
      tellOfType('removed', type, { base: media, head: pair.head });
      continue;
    }
    matched.add(other);
    const there = type === 'application/json' ? place : { ...place, where: `${place.where} as ${type}` };
    for (const [subject, key] of schemas) {
      compareSchemasAt(there, subject, direction, childOf(media, key), childOf(node, key));
    }
    if (encodings.some(key => !isSame(childOf(media, key)?.value, childOf(node, key)?.value))) {
      tell(there, 'encoding-changed', 'The encoding of the parts of the body changed.', { base: media, head: node });
    }
  }
  for (const [type, media] of has) {
    if (!matched.has(type)) tellOfType('added', type, { base: pair.base, head: media });
  }
}

/** Returns the contents of a body by normalized media type: in lower case, without spaces and without charset=utf-8. */
function contentsOf(document: OpenApiDocument, body: Located): Map<string, Located> {
  const nameOf = (type: string) =>
    type
      .toLowerCase()
      .replace(/\s+/g, '')
      .replace(/;charset="?utf-8"?/, '');
  return new Map(childrenOf(childOf(body, 'content')).map(([type, media]) => [nameOf(type), follow(document, media)]));
}

/**
 * Whether a change from one media type to another is safe for clients. For a request, the head document must accept the
 * old type. For a response, clients of the base document must expect the new type. A range such as `image/*` includes
 * many types.
 */
function isWithin(direction: Direction, base: string, head: string): boolean {
  const [type, range] = direction === 'request' ? [base, head] : [head, base];
  return range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}
