import { type Comparison, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, type Located } from './document.ts';
import { readShape } from './schema/read-shape.ts';
import type { SchemaReader } from './schema/shape.ts';
import { identityOf } from './schema/write-schema.ts';
import { quote } from './sentence.ts';

/**
 * Compares the names of schemas. Generated clients use them as type names, although requests and responses do not
 * contain them.
 */
export function compareSchemaNames(comparison: Comparison): void {
  const { base, head } = comparison;
  const [had, has] = [base, head].map(({ root }) => childOf(childOf(root, 'components'), 'schemas'));
  const names = new Map(childrenOf(has));
  const known = new Set(childrenOf(had).map(([name]) => name));
  const added = [...names].filter(([name]) => !known.has(name));
  const place: Place = { comparison, operation: '', where: '', isReceived: false, isError: false };
  for (const [name, schema] of childrenOf(had)) {
    if (names.has(name)) continue;
    const identity = identityAt(comparison.schemas.response.base, schema);
    const renamed = added.find(([, other]) => identityAt(comparison.schemas.response.head, other) === identity);
    const message = renamed
      ? `The schema ${quote(name)} is now called ${quote(renamed[0])}.`
      : `The schema ${quote(name)} is gone.`;
    tell(place, 'schema-name-removed', message, { base: schema, head: renamed?.[1] ?? has ?? head.root });
  }
}

function identityAt(reader: SchemaReader, schema: Located): string {
  return identityOf(reader, readShape(reader, [schema]));
}
