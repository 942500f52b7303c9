import { compareDeprecation, compareSchemasAt, type Pair, type Place, tell } from './comparison.ts';
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
  for (const [key, parameter] of had) {
    const other = has.get(key);
    const where = `${parameter.in} parameter ${parameter.name}`;
    const there = { ...place, where };
    if (other === undefined) {
      const pair = { base: parameter.listed, head: operations.head };
      if (isReceived) tell(there, 'webhook-parameter-removed', `The ${where} is no longer sent.`, pair);
      // A path without one of its parameters is a different path. Another rule has already reported the missing path.
      else if (parameter.in !== 'path') tell(there, 'parameter-removed', `The ${where} is gone.`, pair);
    } else {
      compareParameter(there, parameter, other);
    }
  }
  for (const [key, parameter] of has) {
    if (had.has(key) || parameter.in === 'path') continue;
    const where = `${parameter.in} parameter ${parameter.name}`;
    const there = { ...place, where };
    const pair = { base: operations.base, head: parameter.listed };
    if (isReceived) tell(there, 'webhook-parameter-added', `The ${where} is new.`, pair);
    else if (parameter.isRequired) tell(there, 'parameter-required', `The ${where} is new and required.`, pair);
    else tell(there, 'parameter-added', `The ${where} is new and optional.`, pair);
  }
}

interface Parameter {
  /** The entry in the operation's list of parameters. The entry may be a reference to the parameter's definition. */
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
  const parts = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name);
  const parameters = new Map<string, Parameter>();
  // A parameter of the operation overrides the path's parameter with the same name.
  for (const listed of [...itemsOf(childOf(item, 'parameters')), ...itemsOf(childOf(operation, 'parameters'))]) {
    const node = follow(document, listed);
    const [name, place] = [textOf(node, 'name') ?? '', textOf(node, 'in') ?? ''];
    // OpenAPI ignores header parameters with these names, because bodies and security requirements describe them.
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

function compareParameter(place: Place, base: Parameter, head: Parameter): void {
  const pair = { base: base.node, head: head.node };
  const subject = `the ${place.where}`;
  if (base.in === 'path' && base.name !== head.name) {
    tell(place, 'path-parameter-renamed', `${subject} is now called ${head.name}.`, pair);
  }
  if (base.isRequired !== head.isRequired) {
    if (place.isReceived) {
      const words = head.isRequired ? 'is always sent' : 'is not always sent any more';
      tell(place, `webhook-parameter-${head.isRequired ? 'added' : 'removed'}`, `${subject} ${words}.`, pair);
    } else {
      const words = head.isRequired ? 'must be sent, and could be left out' : 'may be left out';
      tell(place, `parameter-${head.isRequired ? 'required' : 'optional'}`, `${subject} ${words}.`, pair);
    }
  }
  compareDeprecation(place, subject, pair);
  const [before, after] = [writingOf(base), writingOf(head)];
  if (before.text !== after.text || before.liberties.some(one => !after.liberties.includes(one))) {
    const message = `${subject} is serialized as ${textOfWriting(after)} instead of ${textOfWriting(before)}.`;
    tell(place, 'parameter-serialization-changed', message, pair);
  }
  const [direction, sender] = place.isReceived ? (['response', head] as const) : (['request', base] as const);
  compareSchemasAt(place, subject, direction, before.schema, after.schema, sender.isRequired);
}

interface Writing {
  text: string;
  /** The permissions of a parameter, such as `allowEmptyValue`. If one of them is removed, clients break. */
  liberties: string[];
  schema: Located | undefined;
}

function textOfWriting({ text, liberties }: Writing): string {
  return [text, ...liberties].join(' with ');
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
