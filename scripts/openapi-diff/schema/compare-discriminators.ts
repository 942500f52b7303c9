import { childOf, childrenOf, type Located, targetOf, textOf } from '../document.ts';
import { quote } from '../sentence.ts';
import { pointerOf } from './atoms.ts';
import { report, type SchemaPair } from './pair.ts';
import { readShape } from './read-shape.ts';
import type { Fragment, SchemaReader, Shape } from './shape.ts';
import { identityOf } from './write-schema.ts';

/** Compares discriminator fields, and the alternatives that their values select. */
export function compareDiscriminators(pair: SchemaPair): void {
  const [base, head] = [pair.base.discriminator, pair.head.discriminator];
  if (base === undefined) return;
  const { direction } = pair.comparison;
  const at = { base: base.pointer, head: head?.pointer ?? pair.head.pointer };
  const field = textOf(base, 'propertyName') ?? '';
  if (head === undefined) {
    // If only one alternative remains, it needs no discriminator.
    if (pair.head.variants.length === 0) return;
    const message = (subject: string) => `${subject} no longer has the discriminator ${quote(field)}.`;
    report(pair, 'discriminator-removed', message, at);
    return;
  }
  const newField = textOf(head, 'propertyName') ?? '';
  if (newField !== field) {
    const message = (subject: string) =>
      `${subject} has the discriminator ${quote(newField)} instead of ${quote(field)}.`;
    report(pair, `${direction}-discriminator-changed`, message, at);
    return;
  }
  const had = meaningsOf(pair.comparison.base, pair.base, base);
  const has = meaningsOf(pair.comparison.head, pair.head, head);
  for (const [value, meaning] of had) {
    const now = has.get(value);
    if (now === undefined ? direction === 'response' : isSameMeaning(meaning, now)) continue;
    const what = now === undefined ? 'means nothing any more' : 'means another alternative';
    report(
      pair,
      `${direction}-discriminator-changed`,
      () => `the value ${quote(value)} of ${quote(field)} ${what}.`,
      at,
    );
  }
}

interface Meaning {
  pointer: string;
  text: string;
}

/**
 * Whether two alternatives count as the same. An extended schema keeps its name, and a renamed schema keeps its
 * content.
 */
function isSameMeaning(a: Meaning, b: Meaning): boolean {
  return a.pointer === b.pointer || a.text === b.text;
}

function meaningsOf(reader: SchemaReader, shape: Shape, discriminator: Located): Map<string, Meaning> {
  const { document } = reader;
  const meanings = new Map<string, Meaning>();
  const add = (value: string, fragment: Fragment) => {
    const text = identityOf(reader, readShape(reader, fragment));
    meanings.set(value, { pointer: pointerOf(document, fragment), text });
  };
  for (const [value, target] of childrenOf(childOf(discriminator, 'mapping'))) {
    const reference = String(target.value);
    const isName = /^[A-Za-z0-9._-]+$/.test(reference);
    add(value, [targetOf(document, isName ? `#/components/schemas/${reference}` : reference, target.pointer)]);
  }
  const mapped = new Set([...meanings.values()].map(({ pointer }) => pointer));
  const field = textOf(discriminator, 'propertyName') ?? '';
  for (const variant of shape.variants) {
    const name = /^#\/components\/schemas\/([^/]+)$/.exec(variant.pointer)?.[1];
    const fragment = variant.fields.properties.get(field);
    const isListed = fragment !== undefined && readShape(reader, fragment).values !== undefined;
    // A schema without a mapping is selected by its own name, unless the schema fixes the field's value.
    if (name === undefined || mapped.has(variant.pointer) || isListed) continue;
    add(name, [targetOf(document, variant.pointer, variant.pointer)]);
  }
  return meanings;
}
