import type pg from 'pg';
import { tableKinds } from '../../server/database/table-kinds.ts';

const header = `-- The whole schema, for reading. The migrations create it, and nothing runs this file. Written by npm run schema.
-- server/database/table-kinds.ts explains the kinds of tables.
`;

/**
 * Writes the schema `public` as SQL statements that create it. The order of tables is alphabetical, but each table
 * follows the tables that it references. PostgreSQL itself formats expressions, constraints and functions, so equal
 * schemas give equal texts.
 */
export async function describeSchema(client: pg.Client): Promise<string> {
  await refuseUnknownObjects(client);
  const parts = [header, ...(await describeExtensions(client)), ...(await describeSearchConfigurations(client))];
  for (const { name, isTable } of await listInOrder(client)) {
    parts.push(isTable ? await describeTable(client, name) : await describeFunction(client, name));
  }
  return parts.join('\n');
}

/**
 * Throws an error if the schema has a kind of object that this module cannot write. Otherwise docs/schema.sql would
 * lack that object without a warning.
 */
async function refuseUnknownObjects(client: pg.Client) {
  const { rows } = await client.query<{ name: string }>(`
    select distinct pg_describe_object(d.classid, d.objid, 0) as name
    from pg_depend d
    left join pg_class t on d.refclassid = 'pg_class'::regclass and t.oid = d.refobjid
    left join pg_class c on d.classid = 'pg_class'::regclass and c.oid = d.objid
    where (t.relnamespace = 'public'::regnamespace
        or d.refclassid = 'pg_namespace'::regclass and d.refobjid = 'public'::regnamespace)
      -- Skips members of extensions, and objects that PostgreSQL creates implicitly.
      and not exists (
        select from pg_depend m
        where m.classid = d.classid and m.objid = d.objid and m.deptype in ('e', 'i') and m.refobjid <> m.objid
      )
      and coalesce(c.relkind not in ('r', 'i'), true)
      and d.classid <> all (array[
        'pg_attrdef', 'pg_constraint', 'pg_extension', 'pg_proc', 'pg_trigger', 'pg_ts_config'
      ]::regclass[])
    order by 1`);
  if (rows.length > 0) throw new Error(`This cannot write: ${rows.map(({ name }) => name).join(', ')}`);
}

async function describeExtensions(client: pg.Client): Promise<string[]> {
  const extensions = await readTexts(
    client,
    `select format('CREATE EXTENSION %I;', extname) as text
    from pg_extension where extnamespace = 'public'::regnamespace order by extname`,
  );
  return extensions.length > 0 ? [section('extensions', extensions)] : [];
}

async function describeSearchConfigurations(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; parser: string; tokens: string; dictionaries: string }>(`
    select name, parser, string_agg(token, ', ' order by token) as tokens, dictionaries
    from (
      select c.oid::regconfig::text as name, format('%I', p.prsname) as parser, t.alias as token,
        string_agg(m.mapdict::regdictionary::text, ', ' order by m.mapseqno) as dictionaries
      from pg_ts_config c
      join pg_ts_parser p on p.oid = c.cfgparser
      join pg_ts_config_map m on m.mapcfg = c.oid
      join ts_token_type(c.cfgparser) t on t.tokid = m.maptokentype
      where c.cfgnamespace = 'public'::regnamespace
      group by 1, 2, 3
    ) mapping
    group by name, parser, dictionaries order by name, dictionaries`);
  return [...Map.groupBy(rows, ({ name }) => name)].map(([name, mappings]) =>
    section('text search', [
      `CREATE TEXT SEARCH CONFIGURATION ${name} (PARSER = ${mappings[0]?.parser});`,
      ...mappings.map(
        ({ tokens, dictionaries }) =>
          `ALTER TEXT SEARCH CONFIGURATION ${name} ADD MAPPING FOR ${tokens}\n  WITH ${dictionaries};`,
      ),
    ]),
  );
}

interface SchemaObject {
  /** The name of a table, or the name of a function with the types of its parameters. */
  name: string;
  isTable: boolean;
  /** The names of the objects that must be created before this object. */
  needs: string[];
}

/** Lists all tables and then all functions. Each object comes after the objects that it needs. */
async function listInOrder(client: pg.Client): Promise<SchemaObject[]> {
  const { rows } = await client.query<SchemaObject>(`
    with object as (
      select c.oid, 'pg_class'::regclass as class, c.oid::regclass::text as name, true as is_table
      from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
      union all
      select p.oid, 'pg_proc'::regclass, p.oid::regprocedure::text, false
      from pg_proc p where p.pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    ),
    part as (
      select o.name, o.class, o.oid from object o
      union all
      select o.name, p.class, p.oid from object o join (
        select indrelid as table_oid, 'pg_class'::regclass as class, indexrelid as oid from pg_index
        union all select conrelid, 'pg_constraint'::regclass, oid from pg_constraint
        union all select adrelid, 'pg_attrdef'::regclass, oid from pg_attrdef
        union all select tgrelid, 'pg_trigger'::regclass, oid from pg_trigger where not tgisinternal
      ) p on p.table_oid = o.oid
    )
    select o.name, o.is_table as "isTable", array(
      select distinct needed.name
      from part
      join pg_depend d on d.classid = part.class and d.objid = part.oid
      join part needed on needed.class = d.refclassid and needed.oid = d.refobjid
      where part.name = o.name and needed.name <> o.name
      order by needed.name
    ) as needs
    from object o order by o.is_table desc, o.name`);
  const byName = new Map(rows.map(row => [row.name, row]));
  const ordered = new Set<SchemaObject>();
  const visited = new Set<string>();
  const add = (name: string) => {
    const object = byName.get(name);
    if (!object || visited.has(name)) return;
    visited.add(name);
    for (const needed of object.needs) add(needed);
    ordered.add(object);
  };
  for (const { name } of rows) add(name);
  return [...ordered];
}

async function describeTable(client: pg.Client, table: string): Promise<string> {
  const columns = await readTexts(
    client,
    `select concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
      case when a.attcollation <> t.typcollation then 'COLLATE ' || a.attcollation::regcollation end,
      case
        when a.attidentity = 'a' then 'GENERATED ALWAYS AS IDENTITY'
        when a.attidentity = 'd' then 'GENERATED BY DEFAULT AS IDENTITY'
        when a.attgenerated = 's' then format('GENERATED ALWAYS AS (%s) STORED', pg_get_expr(d.adbin, d.adrelid))
        when a.attgenerated = 'v' then format('GENERATED ALWAYS AS (%s) VIRTUAL', pg_get_expr(d.adbin, d.adrelid))
        else 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)
      end,
      case when a.attnotnull then 'NOT NULL' end
    ) as text
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
    order by a.attnum`,
    [table],
  );
  // NOT NULL constraints are omitted here, because the columns already have them.
  const constraints = await readTexts(
    client,
    `select format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid, true)) as text
    from pg_constraint where conrelid = $1::regclass and contype <> 'n'
    order by array_position('{p,u,x,c,f}', contype::text), conname`,
    [table],
  );
  const indexes = await readTexts(
    client,
    `select pg_get_indexdef(i.indexrelid, 0, true) || ';' as text
    from pg_index i
    where i.indrelid = $1::regclass
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))
    order by i.indexrelid::regclass::text`,
    [table],
  );
  const triggers = await readTexts(
    client,
    `select pg_get_triggerdef(oid, true) || ';' as text
    from pg_trigger where tgrelid = $1::regclass and not tgisinternal order by tgname`,
    [table],
  );
  const [definition = ''] = await readTexts(
    client,
    `select concat('CREATE ', case when relpersistence = 'u' then 'UNLOGGED ' end, 'TABLE ', oid::regclass, E' (\\n',
      $2::text, E'\\n)', ' WITH (' || array_to_string(reloptions, ', ') || ')', ';'
    ) as text
    from pg_class where oid = $1::regclass`,
    [table, [...columns, ...constraints].map(line => `  ${line}`).join(',\n')],
  );
  const kind = tableKinds[table as keyof typeof tableKinds]?.kind ?? 'without a kind';
  return section(`table ${table} (${kind})`, [definition, ...indexes, ...triggers]);
}

async function describeFunction(client: pg.Client, signature: string): Promise<string> {
  const [definition = ''] = await readTexts(client, 'select pg_get_functiondef($1::regprocedure) as text', [signature]);
  const text = definition.replace(/^CREATE OR REPLACE (\w+) public\./, 'CREATE $1 ').trimEnd();
  return section(`function ${signature}`, [`${text};`]);
}

function section(title: string, statements: readonly string[]): string {
  return `-- ${title}\n\n${statements.join('\n')}\n`;
}

async function readTexts(client: pg.Client, sql: string, values: unknown[] = []): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(sql, values);
  return rows.map(({ text }) => text);
}
