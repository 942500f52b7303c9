import {
  type Compilable,
  type DeleteResult,
  DummyDriver,
  type InsertResult,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
  type UpdateResult,
} from 'kysely';
import pg from 'pg';
import type { Tables } from './tables.ts';

/** An SQL statement with a fixed text. `database.query` runs it. */
export interface Query<Arguments, Row> {
  readonly name: string;
  /**
   * Whether each connection prepares the statement once. If false, PostgreSQL makes a new plan for the values of each
   * call.
   */
  readonly isPrepared: boolean;
  readonly text: string;
  /** The names of the arguments for the placeholders $1, $2 and so on, in this order. */
  readonly argumentNames: readonly string[];
  /** Whether the text comes from an extension. Such a text may contain values, so traces leave it out. */
  readonly isOfExtension?: boolean;
  readonly '~arguments'?: (values: Arguments) => void;
  readonly '~row'?: Row;
}

export type RowOf<Q> = Q extends Query<never, infer Row> ? Row : never;

/**
 * The arguments of a query as expressions. The driver reads times as text, so time columns have the TypeScript type
 * string. Date arguments have the type string here, too, so that a query can compare Date arguments with time columns.
 */
export type Arguments<Values> = { readonly [Name in keyof Values]: RawBuilder<InQuery<Values[Name]>> };
type InQuery<T> = T extends Date ? string : T;

/** The row type of a query: `never` for a statement that writes and returns no rows. */
type RowFrom<Output> = Output extends InsertResult | UpdateResult | DeleteResult ? never : Output;

export interface QueryOptions {
  /** Set this to false for a query whose best plan depends on its values, such as a search. */
  isPrepared?: boolean;
}

const definedQueries: Query<never, unknown>[] = [];

/** Lists the queries of all loaded modules, so that tests can check the queries. */
export function listQueries(): readonly Query<never, unknown>[] {
  return definedQueries;
}

/**
 * Defines a query. It is compiled on first use. By default, each connection prepares it once. Its name must be unique
 * in the program. Only the arguments become parameters. A constant becomes a literal, so that PostgreSQL can use its
 * value for the plan. Therefore pass client input only as arguments.
 */
export function query<Values, Output>(
  name: string,
  build: (db: Kysely<Tables>, $: Arguments<Values>) => Compilable<Output>,
  { isPrepared = true }: QueryOptions = {},
): Query<Values, RowFrom<Output>> {
  return defineQuery(name, isPrepared, () => {
    const { sql: text, parameters } = build(builder, argumentProxy as Arguments<Values>).compile();
    return { text, argumentNames: parameters as readonly string[] };
  });
}

/** Adds a query to the result of listQueries(). The query is compiled on first use. */
export function defineQuery<Values, Row>(
  name: string,
  isPrepared: boolean,
  compile: () => { text: string; argumentNames: readonly string[] },
): Query<Values, Row> {
  let compiled: ReturnType<typeof compile> | undefined;
  const read = () => (compiled ??= compile());
  const defined: Query<Values, Row> = {
    name,
    isPrepared,
    get text() {
      return read().text;
    },
    get argumentNames() {
      return read().argumentNames;
    },
  };
  definedQueries.push(defined as Query<never, unknown>);
  return defined;
}

/** Wraps the SQL text of an extension or a test as a query. listQueries() does not return this query. */
export function queryOfText<Row>(text: string, argumentCount: number): Query<readonly unknown[], Row> {
  return {
    name: 'text',
    isPrepared: false,
    isOfExtension: true,
    text,
    argumentNames: [...Array(argumentCount).keys()].map(String),
  };
}

/** Combines a query with its values in the format of the driver. */
export function configOf<Values>(query: Query<Values, unknown>, values: Values): pg.QueryConfig {
  const named = values as Record<string, unknown>;
  return {
    ...(query.isPrepared ? { name: query.name } : {}),
    text: query.text,
    values: query.argumentNames.map(name => named[name]),
  };
}

const bigintOid = 20;

/**
 * Reads bigint values, such as ids, as numbers. Times stay text, because the entity manager converts times itself and
 * other code returns times as text.
 */
export const columnTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === bigintOid) return Number;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return (value: string) => value;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as pg.CustomTypesConfig;

/** Runs a query on a given connection or pool, without the retries of database.query. */
export async function runOn<Values, Row>(
  connection: pg.ClientBase | pg.Pool,
  query: Query<Values, Row>,
  values: NoInfer<Values>,
): Promise<Row[]> {
  const config: pg.QueryConfig = { ...configOf(query, values), types: columnTypes };
  return (await (connection as pg.ClientBase).query(config)).rows;
}

/** A placeholder for an argument. The compiler replaces it with a number such as $1. */
class Argument {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const argumentProxy: unknown = new Proxy({}, { get: (_, name: string) => sql.val(new Argument(name)) });

/**
 * Gives each argument a number such as $1. An argument that occurs several times has only one number. All other values
 * become literals in the SQL text.
 */
class QueryCompiler extends PostgresQueryCompiler {
  #names: string[] = [];

  protected override appendValue(value: unknown) {
    if (!(value instanceof Argument)) {
      this.appendImmediateValue(value);
      return;
    }
    let index = this.#names.indexOf(value.name);
    if (index < 0) {
      index = this.#names.push(value.name) - 1;
      this.addParameter(value.name);
    }
    this.append(`$${index + 1}`);
  }

  override compileQuery(...compiled: Parameters<PostgresQueryCompiler['compileQuery']>) {
    this.#names = [];
    return super.compileQuery(...compiled);
  }
}

/** Builds queries for compilation. It has no connection, so it cannot run queries. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: db => new PostgresIntrospector(db),
    createQueryCompiler: () => new QueryCompiler(),
  },
});
