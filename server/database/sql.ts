import { defineQuery, type Query, type QueryOptions } from './query.ts';

/** A type of PostgreSQL, and the type of its values here: read from a row, and written as an argument. */
export interface SqlType<Read, Written = Read> {
  /** As format_type() names it. */
  readonly postgresType: string;
  /** Exist for the type check alone. */
  readonly '~read': Read;
  readonly '~written': Written;
}

type SqlTypes = Readonly<Record<string, SqlType<unknown, unknown>>>;
type Written<Types extends SqlTypes> = { [Name in keyof Types]: Types[Name]['~written'] };
type Read<Types extends SqlTypes> = { [Name in keyof Types]: Types[Name]['~read'] };

/** What a statement declares of itself. A test compares it with PostgreSQL's own description of the statement. */
export interface Declaration {
  readonly arguments: SqlTypes;
  /** The columns of the rows. Empty for a statement that returns nothing to read. */
  readonly row: SqlTypes;
}

const declarations = new Map<string, Declaration>();

/** The declaration of a query by its name; undefined for one that query() defined. */
export function declarationOf(name: string): Declaration | undefined {
  return declarations.get(name);
}

/**
 * Defines a query in SQL, for what query() cannot state: calls of functions, advisory locks, system catalogs, and a plan
 * that needs an exact text. `$ideaId` in the text is the argument of that name.
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
export const uuid = () => type<string>('uuid');
export const bytes = () => type<Buffer>('bytea');
export const time = () => type<string, Date | string>('timestamp with time zone');
/** Written as text that JSON.stringify made. */
export const json = <T>() => type<T, string>('json');
export const jsonb = <T>() => type<T, string>('jsonb');

export function nullable<Read, Written>(of: SqlType<Read, Written>) {
  return of as SqlType<Read | null, Written | null>;
}

export function array<Read, Written>(of: SqlType<Read, Written>) {
  return type<Read[], readonly Written[]>(`${of.postgresType}[]`);
}
