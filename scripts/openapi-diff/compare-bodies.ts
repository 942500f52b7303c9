import { compareSchemasAt, type Pair, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, follow, isTrue, type Located, type OpenApiDocument } from './document.ts';
import { isSame } from './json.ts';
import type { RuleId } from './rules/rules.ts';
import { quote } from './sentence.ts';

export function compareRequestBodies(place: Place, operations: Pair): void {
  const { comparison, isReceived } = place;
  const there = { ...place, where: isReceived ? 'body' : 'request body' };
  const base = follow(comparison.base, childOf(operations.base, 'requestBody'));
  const head = follow(comparison.head, childOf(operations.head, 'requestBody'));
  const pair = { base: base ?? operations.base, head: head ?? operations.head };
  if (base === undefined && head === undefined) return;
  if (base === undefined) {
    if (isReceived) tell(there, 'webhook-body-added', 'The body is new.', pair);
    else if (isTrue(head, 'required')) tell(there, 'request-body-required', 'A body is new and required.', pair);
    else tell(there, 'request-body-added', 'The optional body is new.', pair);
    return;
  }
  if (head === undefined) {
    if (isReceived) tell(there, 'webhook-body-removed', 'The body is gone.', pair);
    else tell(there, 'request-body-removed', 'The body is no longer accepted.', pair);
    return;
  }
  const [was, is] = [isTrue(base, 'required'), isTrue(head, 'required')];
  if (was && !is) {
    tell(there, isReceived ? 'webhook-body-optional' : 'request-body-optional', 'The body is now optional.', pair);
  } else if (!was && is) {
    const rule = isReceived ? 'webhook-body-added' : 'request-body-required';
    tell(there, rule, 'The body is now required.', pair);
  }
  compareContents(there, pair, isReceived ? 'response' : 'request', rulesOfBody[isReceived ? 'received' : 'sent']);
}

const rulesOfBody = {
  sent: { removed: 'request-media-type-removed', added: 'request-media-type-added' },
  received: { removed: 'webhook-media-type-changed', added: 'webhook-media-type-changed' },
} as const;

const encodings = ['encoding', 'prefixEncoding', 'itemEncoding'];

export function compareContents(
  place: Place,
  pair: Pair,
  direction: 'request' | 'response',
  rules: { removed: RuleId; added: RuleId },
): void {
  const { comparison } = place;
  const [had, has] = [contentsOf(comparison.base, pair.base), contentsOf(comparison.head, pair.head)];
  const matched = new Set<string>();
  for (const [type, media] of had) {
    const other =
      [...has.keys()].find(one => one === type) ?? [...has.keys()].find(one => isWithin(direction, type, one));
    const node = other === undefined ? undefined : has.get(other);
    if (other === undefined || node === undefined) {
      tell(place, rules.removed, `The media type ${quote(type)} is gone.`, { base: media, head: pair.head });
      continue;
    }
    matched.add(other);
    const there = type === 'application/json' ? place : { ...place, where: `${place.where} as ${type}` };
    compareSchemasAt(there, 'the body', direction, childOf(media, 'schema'), childOf(node, 'schema'));
    compareSchemasAt(
      there,
      'an item of the body',
      direction,
      childOf(media, 'itemSchema'),
      childOf(node, 'itemSchema'),
    );
    if (encodings.some(key => !isSame(childOf(media, key)?.value, childOf(node, key)?.value))) {
      tell(there, 'encoding-changed', 'The encoding of the parts of the body changed.', { base: media, head: node });
    }
  }
  for (const [type, media] of has) {
    if (matched.has(type)) continue;
    tell(place, rules.added, `The media type ${quote(type)} is new.`, { base: pair.base, head: media });
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
 * Whether the change from one media type to another is safe. For a request, the head document must accept the old type.
 * For a response, clients of the base document must expect the new type. A range such as `image/*` includes many types.
 */
function isWithin(direction: 'request' | 'response', base: string, head: string): boolean {
  return direction === 'request' ? isNamedBy(base, head) : isNamedBy(head, base);
}

function isNamedBy(type: string, range: string): boolean {
  return range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)));
}
