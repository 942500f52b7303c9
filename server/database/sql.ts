import { defineQuery, type Query, type QueryOptions } from './query.ts';

/** A PostgreSQL type, with the TypeScript types of its values in rows and as arguments. */
export interface SqlType<Read, Written = Read> {
  /** The name of the type as PostgreSQL's format_type() returns it. */
  readonly postgresType: string;
  /** No code sets these properties. They exist only for the type check. */
  readonly '~read': Read;
  readonly '~written': Written;
}

type SqlTypes = Readonly<Record<string, SqlType<unknown, unknown>>>;
type Written<Types extends SqlTypes> = { [Name in keyof Types]: Types[Name]['~written'] };
type Read<Types extends SqlTypes> = { [Name in keyof Types]: Types[Name]['~read'] };

/**
 * The types of a statement's arguments and columns. A test compares them with PostgreSQL's description of the
 * statement.
 */
export interface Declaration {
  readonly arguments: SqlTypes;
  /** The types of the columns in a row. Empty if no caller reads the rows. */
  readonly row: SqlTypes;
}

const declarations = new Map<string, Declaration>();

/**
 * Returns the types that sql() declares for the query with this name. Returns undefined for a query that query()
 * defines.
 */
export function declarationOf(name: string): Declaration | undefined {
  return declarations.get(name);
}

/**
 * Defines a query in SQL for cases that query() cannot express: function calls, advisory locks, system catalogs, and
 * plans that need an exact text. `$ideaId` in the text stands for the argument `ideaId`.
 */
export function sql<Arguments extends SqlTypes, Row extends SqlTypes>(
  name: string,
  declaration: { arguments: Arguments; row: Row },
  text: string,
  { isPrepared = true }: QueryOptions = {},
): Query<Written<Arguments>, Read<Row>> {
  declarations.set(name, declaration);
  const argumentNames = Object.keys(declaration.arguments);
  return defineQuery(name, isPrepared, () => ({ text: numbered(name, text, argumentNames), argumentNames }));
}

function numbered(name: string, text: string, argumentNames: readonly string[]): string {
  return text.replace(/\$(\w+)/g, (_, argument: string) => {
    const index = argumentNames.indexOf(argument);
    if (index < 0) throw new Error(`The statement ${name} does not declare its argument ${argument}`);
    return `$${index + 1}`;
  });
}

function type<Read, Written = Read>(postgresType: string): SqlType<Read, Written> {
  return { postgresType } as SqlType<Read, Written>;
}

export const bigint = () => type<number>('bigint');
export const integer = () => type<number>('integer');
export const smallint = <T extends number>() => type<T>('smallint');
export const double = () => type<number>('double precision');
export const boolean = () => type<boolean>('boolean');
export const text = <T extends string = string>() => type<T>('text');
export const inet = () => type<string>('inet');
export const uuid = () => type<string>('uuid');
export const bytes = () => type<Buffer>('bytea');
export const time = () => type<string, Date | string>('timestamp with time zone');
/** A json value. Arguments are passed as JSON text. */
export const json = <T>() => type<T, string>('json');
export const jsonb = <T>() => type<T, string>('jsonb');

export function nullable<Read, Written>(of: SqlType<Read, Written>) {
  return of as SqlType<Read | null, Written | null>;
}

export function array<Read, Written>(of: SqlType<Read, Written>) {
  return type<Read[], readonly Written[]>(`${of.postgresType}[]`);
}
