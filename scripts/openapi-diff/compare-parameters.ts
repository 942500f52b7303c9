import { namesIn } from './compare-servers.ts';
import {
  compareDeprecation,
  comparePresence,
  compareSchemasAt,
  matchKeys,
  type Pair,
  type Place,
  type PresenceRules,
  tell,
} from './comparison.ts';
import {
  childOf,
  childrenOf,
  follow,
  isTrue,
  itemsOf,
  type Located,
  type OpenApiDocument,
  textOf,
} from './document.ts';

const rulesOfRequests: PresenceRules = {
  removed: ['parameter-removed', '{} is gone.'],
  optional: ['parameter-optional', '{} may be left out.'],
  required: ['parameter-required', '{} must be sent, and could be left out.'],
  added: ['parameter-added', '{} is new and optional.'],
  addedRequired: ['parameter-required', '{} is new and required.'],
};

const rulesOfWebhooks: PresenceRules = {
  removed: ['webhook-parameter-removed', '{} is no longer sent.'],
  optional: ['webhook-parameter-removed', '{} is not always sent any more.'],
  required: ['webhook-parameter-added', '{} is always sent.'],
  added: ['webhook-parameter-added', '{} is new.'],
};

const rulesOfHeaders: PresenceRules = {
  removed: ['response-header-removed', '{} is no longer sent.'],
  optional: ['response-header-optional', '{} is now optional.'],
  required: ['response-header-required', '{} is now always sent.'],
  added: ['response-header-added', '{} is new.'],
};

/** Compares the parameters of an operation, including the parameters of its path. */
export function compareParameters(
  place: Place,
  path: { base: string; head: string },
  items: Pair,
  operations: Pair,
): void {
  const { comparison, isReceived } = place;
  const had = parametersOf(comparison.base, path.base, items.base, operations.base);
  const has = parametersOf(comparison.head, path.head, items.head, operations.head);
  for (const [, base, head] of matchKeys(had, has)) {
    const { in: kind, name } = (base ?? head) as Parameter;
    const there = { ...place, where: `${kind} parameter ${name}` };
    const subject = `the ${there.where}`;
    // A path without one of its parameters is a different path. Another rule has already reported the missing path. But a
    // webhook has no path.
    if (kind !== 'path' || (isReceived && base)) {
      const rules = isReceived ? rulesOfWebhooks : rulesOfRequests;
      comparePresence(there, rules, subject, base?.isRequired, head?.isRequired, pairAt(operations, base, head));
    }
    if (base && head) compareParameter(there, subject, base, head);
  }
}

/** Compares the headers of a response. Omits Content-Type, because the media types describe it. */
export function compareHeaders(place: Place, responses: Pair): void {
  const { comparison } = place;
  const had = headersOf(comparison.base, responses.base);
  const has = headersOf(comparison.head, responses.head);
  for (const [, base, head] of matchKeys(had, has)) {
    const name = base?.name ?? head?.name;
    const there = { ...place, where: `${place.where} header ${name}`, isError: false };
    const subject = `the header ${name}`;
    const pair = pairAt(responses, base, head);
    comparePresence(there, rulesOfHeaders, subject, base?.isRequired, head?.isRequired, pair);
    if (base === undefined || head === undefined) continue;
    compareDeprecation(there, subject, pair);
    compareSchemasAt(there, subject, 'response', writingOf(base).schema, writingOf(head).schema);
  }
}

/** A parameter of an operation, or a header of a response. */
interface Parameter {
  /** The entry in the operation or in the response, which may be a reference to the definition. */
  listed: Located;
  node: Located;
  name: string;
  in: string;
  isRequired: boolean;
}

/** Returns the parameters of an operation by an identity: its position for a path parameter, its name for any other. */
function parametersOf(
  document: OpenApiDocument,
  path: string,
  item: Located,
  operation: Located,
): Map<string, Parameter> {
  const parts = namesIn(path);
  const parameters = new Map<string, Parameter>();
  // A parameter of the operation overrides the path's parameter with the same name.
  for (const listed of [...itemsOf(childOf(item, 'parameters')), ...itemsOf(childOf(operation, 'parameters'))]) {
    const node = follow(document, listed);
    const [name, place] = [textOf(node, 'name') ?? '', textOf(node, 'in') ?? ''];
    // Skips header parameters with these names, as OpenAPI requires. Bodies and security requirements describe them.
    if (place === 'header' && /^(accept|content-type|authorization)$/i.test(name)) continue;
    const id = place === 'path' ? parts.indexOf(name) : place === 'header' ? name.toLowerCase() : name;
    parameters.set(`${place} ${id}`, {
      listed,
      node,
      name,
      in: place,
      isRequired: place === 'path' || isTrue(node, 'required'),
    });
  }
  return parameters;
}

/** Returns the headers of a response by lower-case name. */
function headersOf(document: OpenApiDocument, response: Located): [string, Parameter][] {
  const headers = childrenOf(childOf(response, 'headers')).filter(([name]) => !/^content-type$/i.test(name));
  return headers.map(([name, listed]) => {
    const node = follow(document, listed);
    return [name.toLowerCase(), { listed, node, name, in: 'header', isRequired: isTrue(node, 'required') }];
  });
}

function pairAt(around: Pair, base: Parameter | undefined, head: Parameter | undefined): Pair {
  if (base && head) return { base: base.node, head: head.node };
  return { base: base?.listed ?? around.base, head: head?.listed ?? around.head };
}

function compareParameter(place: Place, subject: string, base: Parameter, head: Parameter): void {
  const pair = { base: base.node, head: head.node };
  if (base.in === 'path' && base.name !== head.name) {
    tell(place, 'path-parameter-renamed', `${subject} is now called ${head.name}.`, pair);
  }
  compareDeprecation(place, subject, pair);
  const [before, after] = [writingOf(base), writingOf(head)];
  if (before.text !== after.text || before.liberties.some(one => !after.liberties.includes(one))) {
    const [was, is] = [before, after].map(({ text, liberties }) => [text, ...liberties].join(' with '));
    const message = `${subject} is serialized as ${is} instead of ${was}.`;
    tell(place, 'parameter-serialization-changed', message, pair);
  }
  const [direction, sender] = place.isReceived ? (['response', head] as const) : (['request', base] as const);
  compareSchemasAt(place, subject, direction, before.schema, after.schema, sender.isRequired);
}

interface Writing {
  text: string;
  /** The permissions of a parameter, such as `allowEmptyValue`. The removal of a permission breaks clients. */
  liberties: string[];
  schema: Located | undefined;
}

/** Returns the serialization of a parameter, with the default values of OpenAPI. */
function writingOf({ node, in: place }: Parameter): Writing {
  const [content] = childrenOf(childOf(node, 'content'));
  if (content) return { text: content[0], liberties: [], schema: childOf(content[1], 'schema') };
  const style = textOf(node, 'style') ?? (place === 'query' || place === 'cookie' ? 'form' : 'simple');
  const explode = childOf(node, 'explode')?.value ?? style === 'form';
  const liberties = ['allowReserved', 'allowEmptyValue'].filter(key => isTrue(node, key));
  return { text: `${style}${explode === true ? ', exploded' : ''}`, liberties, schema: childOf(node, 'schema') };
}
