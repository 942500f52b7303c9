import { type Json, toJsonSchema } from '../../contract/openapi/json-schema.ts';
import type { Operation } from './cases.ts';

/** Fields with these names contain text by users, in every result except the board itself. */
const names = /(^|\.)((title|body|reason)|(author|actor|voter|issuer)\.name|(?<!board\.)description)$/;

/**
 * Returns the paths of the fields of a tool's result that contain text by users, or undefined if there are none. The
 * names of the fields decide, independently of the marks in the contract.
 */
export function userTexts({ route }: Operation): string[] | undefined {
  const schema = toJsonSchema(route.responses[200] ?? route.responses[201], 'output');
  const found = [...new Set(pathsIn(schema ?? {}, ''))].filter(path => names.test(path));
  return found.length > 0 ? found : undefined;
}

/** Returns the paths of the text fields of a schema. */
function pathsIn({ type, properties = {}, items, anyOf = [] }: Json, path: string): string[] {
  const fields = Object.entries(properties as Record<string, Json>);
  return [
    ...([type].flat().includes('string') ? [path] : []),
    ...fields.flatMap(([name, field]) => pathsIn(field, path === '' ? name : `${path}.${name}`)),
    ...(items ? pathsIn(items as Json, `${path}[]`) : []),
    ...(anyOf as Json[]).flatMap(variant => pathsIn(variant, path)),
  ];
}
