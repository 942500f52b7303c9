import type { Turns } from './change.ts';
import { namesIn } from './compare-servers.ts';
import { childOf, childrenOf, exists, follow, isTrue, itemsOf, type Located, textOf } from './document.ts';
import { both, compareDeprecation, comparePresence, compareSchemaOf, matchParts, type Part, tell } from './part.ts';
import type { Direction } from './schema/shape.ts';

const turnsOfRequests: Turns = {
  removed: ['parameter-removed', '{} is gone.'],
  optional: ['parameter-optional', '{} may be left out.'],
  required: ['parameter-required', '{} must be sent, and could be left out.'],
  added: ['parameter-added', '{} is new and optional.'],
  addedRequired: ['parameter-required', '{} is new and required.'],
};

const turnsOfWebhooks: Turns = {
  removed: ['webhook-parameter-removed', '{} is no longer sent.'],
  optional: ['webhook-parameter-removed', '{} is not always sent any more.'],
  required: ['webhook-parameter-added', '{} is always sent.'],
  added: ['webhook-parameter-added', '{} is new.'],
};

const turnsOfHeaders: Turns = {
  removed: ['response-header-removed', '{} is no longer sent.'],
  optional: ['response-header-optional', '{} is now optional.'],
  required: ['response-header-required', '{} is now always sent.'],
  added: ['response-header-added', '{} is new.'],
};

export function compareParameters(operation: Part, items: Part, paths: readonly [string, string]): void {
  const { isReceived } = operation;
  const had = parametersOf(items.base, operation.base, paths[0]);
  const has = parametersOf(items.head, operation.head, paths[1]);
  for (const [, listed] of matchParts(operation, [had, has])) {
    const definition = follow(exists(listed.base) ? listed.base : listed.head);
    const kind = textOf(definition, 'in') ?? '';
    const where = `${kind} parameter ${textOf(definition, 'name') ?? ''}`;
    // Does not report added and removed path parameters of requests. A path with other parameters is a different path,
    // and another rule has already reported this path. The requests of a webhook have no path.
    const turns = isReceived ? turnsOfWebhooks : kind === 'path' ? {} : turnsOfRequests;
    compareParameter({ ...listed, where }, turns, `the ${where}`, kind, isReceived ? 'response' : 'request');
  }
}

/** Compares the headers of a response, except Content-Type. The media types of the response already describe it. */
export function compareHeaders(response: Part): void {
  const [had, has] = both(response, node => childrenOf(childOf(node, 'headers')));
  const names = new Map([...has, ...had].map(([name]) => [name.toLowerCase(), name]));
  const byId = (headers: [string, Located][]) => headers.map(([name, header]) => [name.toLowerCase(), header] as const);
  for (const [id, listed] of matchParts(response, [byId(had), byId(has)])) {
    if (id === 'content-type') continue;
    const name = names.get(id);
    const there = { ...listed, where: `${response.where} header ${name}`, isError: false };
    compareParameter(there, turnsOfHeaders, `the header ${name}`, 'header', 'response');
  }
}

/**
 * Lists the parameters of an operation and of its path item. The key of a path parameter contains its position in the
 * path. The key of any other parameter contains its name.
 */
function parametersOf(item: Located, operation: Located, path: string): [string, Located][] {
  const parts = namesIn(path);
  // A parameter of the operation overrides the path's parameter with the same name.
  const listed = [item, operation].flatMap(node => itemsOf(childOf(node, 'parameters')));
  return listed.flatMap((parameter): [string, Located][] => {
    const [name, kind] = ['name', 'in'].map(key => textOf(follow(parameter), key) ?? '') as [string, string];
    // Skips the header parameters Accept, Content-Type and Authorization, as OpenAPI requires. Bodies and security
    // requirements describe these headers.
    if (kind === 'header' && /^(accept|content-type|authorization)$/i.test(name)) return [];
    const id = kind === 'path' ? parts.indexOf(name) : kind === 'header' ? name.toLowerCase() : name;
    return [[`${kind} ${id}`, parameter]];
  });
}

function compareParameter(listed: Part, turns: Turns, subject: string, kind: string, direction: Direction): void {
  const part = comparePresence(listed, turns, subject);
  if (part === undefined) return;
  const [name, newName] = both(part, node => textOf(node, 'name'));
  if (kind === 'path' && name !== newName) tell(part, 'path-parameter-renamed', `${subject} is now called ${newName}.`);
  compareDeprecation(part, subject);
  const [before, after] = both(part, node => writingOf(node, kind));
  if (before.text !== after.text || before.liberties.some(one => !after.liberties.includes(one))) {
    const [was, is] = [before, after].map(({ text, liberties }) => [text, ...liberties].join(' with '));
    tell(part, 'parameter-serialization-changed', `${subject} is serialized as ${is} instead of ${was}.`);
  }
  const isAlwaysSent = kind === 'path' || isTrue(direction === 'request' ? part.base : part.head, 'required');
  compareSchemaOf({ ...part, base: before.schema, head: after.schema }, subject, direction, isAlwaysSent);
}

/**
 * Returns the serialization of a parameter, with the default values of OpenAPI. The liberties are permissions of the
 * client, so their removal breaks clients.
 */
function writingOf(node: Located, kind: string): { text: string; liberties: string[]; schema: Located } {
  const [content] = childrenOf(childOf(node, 'content'));
  if (content) return { text: content[0], liberties: [], schema: childOf(content[1], 'schema') };
  const style = textOf(node, 'style') ?? (kind === 'query' || kind === 'cookie' ? 'form' : 'simple');
  const explode = childOf(node, 'explode').value ?? style === 'form';
  const liberties = ['allowReserved', 'allowEmptyValue'].filter(key => isTrue(node, key));
  return { text: `${style}${explode === true ? ', exploded' : ''}`, liberties, schema: childOf(node, 'schema') };
}
