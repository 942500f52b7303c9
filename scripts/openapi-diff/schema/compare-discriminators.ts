import { childOf, childrenOf, type Located, targetOf, textOf } from '../document.ts';
import { quote } from '../sentence.ts';
import { pointerOf } from './atoms.ts';
import { schemaNameOf } from './compare-variants.ts';
import { report, type SchemaPair } from './pair.ts';
import { readShape } from './read-shape.ts';
import type { Fragment, SchemaReader, Shape } from './shape.ts';
import { identityOf } from './write-schema.ts';

/** Compares discriminator fields. Also compares which alternative each value of the field selects. */
export function compareDiscriminators(pair: SchemaPair): void {
  const [base, head] = [pair.base.discriminator, pair.head.discriminator];
  if (base === undefined) return;
  const { direction } = pair;
  const at = { base: base.pointer, head: head?.pointer ?? pair.head.pointer };
  const [field, newField] = [base, head].map(one => (one && textOf(one, 'propertyName')) ?? '');
  const name = quote(field ?? '');
  if (head === undefined) {
    // If only one alternative remains, no discriminator is needed.
    if (pair.head.variants.length > 0) {
      report(pair, 'discriminator-removed', `no longer has the discriminator ${name}`, at);
    }
  } else if (newField !== field) {
    const what = `has the discriminator ${quote(newField ?? '')} instead of ${name}`;
    report(pair, `${direction}-discriminator-changed`, what, at);
  } else {
    const had = meaningsOf(pair.comparison.base, pair.base, base);
    const has = meaningsOf(pair.comparison.head, pair.head, head);
    for (const [value, meaning] of had) {
      const now = has.get(value);
      // An alternative counts as unchanged if it has the same name or the same content as before.
      const isSame = now && (now.pointer === meaning.pointer || now.text === meaning.text);
      if (isSame ?? direction === 'response') continue;
      const message = `the value ${quote(value)} of ${name} means ${now ? 'another alternative' : 'nothing any more'}.`;
      report(pair, `${direction}-discriminator-changed`, () => message, at);
    }
  }
}

/** The alternatives of a union. The key is the value of the discriminator field that selects the alternative. */
type Meanings = Map<string, { pointer: string; text: string }>;

function meaningsOf(reader: SchemaReader, shape: Shape, discriminator: Located): Meanings {
  const meanings: Meanings = new Map();
  const add = (value: string, fragment: Fragment) => {
    const text = identityOf(reader, readShape(reader, fragment));
    meanings.set(value, { pointer: pointerOf(fragment), text });
  };
  for (const [value, target] of childrenOf(childOf(discriminator, 'mapping'))) {
    const reference = String(target.value);
    const isName = /^[A-Za-z0-9._-]+$/.test(reference);
    add(value, [targetOf(target, isName ? `#/components/schemas/${reference}` : reference)]);
  }
  const mapped = new Set([...meanings.values()].map(({ pointer }) => pointer));
  const field = textOf(discriminator, 'propertyName') ?? '';
  for (const variant of shape.variants) {
    const name = schemaNameOf(variant.pointer);
    const fragment = variant.fields.properties.get(field);
    const isListed = fragment !== undefined && readShape(reader, fragment).values !== undefined;
    // If a schema has no entry in `mapping`, its own name selects it, unless the schema fixes the value of the field.
    if (name === undefined || mapped.has(variant.pointer) || isListed) continue;
    add(name, [targetOf(discriminator, variant.pointer)]);
  }
  return meanings;
}
