/** A JSON Schema from the OpenAPI document, with the keywords that the contract uses. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  description?: string;
}

export function buildTypes(components: Record<string, JsonSchema>) {
  const referred = new Set<string>();

  function typeOf(schema: JsonSchema): string {
    if (schema.$ref !== undefined) return refer(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
    if (schema.const !== undefined) return literal(schema.const);
    if (schema.enum) return schema.enum.map(literal).join(' | ');
    if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
    if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({ ...schema, type })).join(' | ');
    if (schema.type === 'array' && schema.items) return `${inParentheses(typeOf(schema.items))}[]`;
    if (schema.type === 'object') return objectType(schema);
    const type = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[
      schema.type ?? ''
    ];
    if (!type) throw new Error(`No type can be written for ${JSON.stringify(schema)}`);
    return type;
  }

  function objectType({ properties = {}, required = [] }: JsonSchema): string {
    const fields = Object.entries(properties).map(([name, schema]) =>
      field(name, typeOf(schema), required.includes(name), schema.description),
    );
    return `{\n${fields.join('\n')}\n}`;
  }

  function refer(name: string): string {
    if (!components[name]) throw new Error(`There is no component ${name}`);
    referred.add(name);
    return name;
  }

  function declarations(): string {
    const written = new Map<string, string>();
    for (let missing = [...referred]; missing.length > 0; missing = [...referred].filter(name => !written.has(name))) {
      for (const name of missing) written.set(name, declaration(name, components[name] ?? {}));
    }
    return [...written.keys()]
      .sort()
      .map(name => written.get(name))
      .join('\n\n');
  }

  function declaration(name: string, schema: JsonSchema): string {
    const type = typeOf(schema);
    const text = schema.type === 'object' ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
    return docComment(schema.description) + text;
  }

  return { typeOf, refer, declarations };
}

/**
 * Writes a field of an object type. An optional field may also have the value undefined, because JSON omits such a
 * field.
 */
export function field(name: string, type: string, isRequired: boolean, description?: string): string {
  const key = /^\w+$/.test(name) ? name : literal(name);
  return docComment(description) + (isRequired ? `${key}: ${type};` : `${key}?: ${type} | undefined;`);
}

const docWidth = 110;

/** Writes a doc comment before a declaration. Returns an empty text if the comment is empty. */
export function docComment(text: string | undefined): string {
  if (!text) return '';
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length <= docWidth) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines.length === 1 ? `/** ${text} */\n` : `/**\n${lines.map(line => ` * ${line}\n`).join('')} */\n`;
}

function literal(value: unknown): string {
  return JSON.stringify(value);
}

function inParentheses(type: string): string {
  return /^\w+$/.test(type) ? type : `(${type})`;
}
