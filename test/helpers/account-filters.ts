import {
  type CreateFunctionStmt,
  type DeleteStmt,
  type InsertStmt,
  type JoinExpr,
  type MergeStmt,
  type Node,
  parse,
  parsePlPgSQL,
  type SelectStmt,
  type UpdateStmt,
  type WithClause,
} from 'libpg-query';

/** The names of the tenant tables, each with the name of the column that holds the account id. */
export type AccountColumns = ReadonlyMap<string, string>;

/**
 * Checks that a statement filters each tenant table by `alias.account_id = $n`, with the same parameter for all tables.
 *
 * - The filter must be in `where`, or in the `on` of a join if the `on` limits the rows of the table.
 * - A filter below `or` does not count. An equation with the account_id of another table does not count.
 * - An insert and its conflict target must name the column with the account id.
 *
 * @returns one sentence for each problem
 */
export async function findFilterProblems(statement: string, columns: AccountColumns): Promise<string[]> {
  const finder = new FilterFinder(columns);
  finder.visit(await parse(statement));
  return finder.problems();
}

/**
 * Checks the statements of an SQL or PL/pgSQL function, in the same way as findFilterProblems(). One parameter of the
 * function must be the account id.
 */
export async function findFunctionProblems(definition: string, columns: AccountColumns): Promise<string[]> {
  const [created] = (await parse(definition)).stmts ?? [];
  if (!created?.stmt || !('CreateFunctionStmt' in created.stmt)) throw new Error('This creates no function');
  const { name, language, body, parameters } = readFunction(created.stmt.CreateFunctionStmt);
  const finder = new FilterFinder(columns, parameters);
  if (language === 'plpgsql') {
    const tree = await parsePlPgSQL(definition);
    for (const text of statementsOf(tree)) finder.visit(await parse(text));
    if (dynamicParts.some(part => holds(tree, part))) {
      return [...finder.problems(), 'executes dynamic SQL, which nothing checks'];
    }
  } else if (language === 'sql') {
    finder.visit(typeof body === 'string' ? await parse(body) : body);
  } else {
    throw new Error(`This cannot check ${name}, which is written in ${language}`);
  }
  return finder.problems();
}

/**
 * An item in the `from` clause of a statement. If the item is a tenant table, `column` is the name of the column with
 * the account id.
 */
interface Relation {
  alias: string;
  column?: string | undefined;
}

/**
 * A condition in a `where` or `on` clause that is not part of an `or`. `limits` lists the relations whose rows the
 * condition limits.
 */
interface Condition {
  node: Node;
  limits: readonly Relation[];
}

/** The fields of all statement types that have relations and conditions, in one type. */
type Statement = SelectStmt & UpdateStmt & DeleteStmt & MergeStmt;

const statementsWithRelation = ['UpdateStmt', 'DeleteStmt', 'MergeStmt'];

class FilterFinder {
  readonly #columns: AccountColumns;
  readonly #functionParameters: ReadonlyMap<string, string>;
  readonly #problems: string[] = [];
  readonly #parameters = new Set<string>();

  constructor(columns: AccountColumns, functionParameters: ReadonlyMap<string, string> = new Map()) {
    this.#columns = columns;
    this.#functionParameters = functionParameters;
  }

  problems(): string[] {
    const parameters = [...this.#parameters];
    if (parameters.length < 2) return this.#problems;
    return [...this.#problems, `compares accounts with ${parameters.join(' and ')}`];
  }

  /** Checks all statements in a syntax tree. In a statement, the name of a CTE hides a table of the same name. */
  visit(tree: unknown, ctes: readonly string[] = []) {
    if (Array.isArray(tree)) {
      for (const one of tree) this.visit(one, ctes);
    } else if (typeof tree === 'object' && tree !== null) {
      for (const [key, value] of Object.entries(tree)) this.#visitNode(key, value, ctes);
    }
  }

  #visitNode(type: string, node: unknown, ctes: readonly string[]) {
    if (type === 'SelectStmt') this.#visitSelect(node as SelectStmt, ctes);
    else if (statementsWithRelation.includes(type)) this.#visitLevel(node as Statement, ctes);
    else if (type === 'InsertStmt') this.#visitInsert(node as InsertStmt, ctes);
    else if (type === 'RangeVar') throw new Error(`Cannot check this use of a table: ${JSON.stringify(node)}`);
    else this.visit(node, ctes);
  }

  #visitSelect(select: SelectStmt, ctes: readonly string[]) {
    const { larg, rarg, withClause, ...rest } = select;
    if (!larg || !rarg) return this.#visitLevel(select, ctes);
    const visible = this.#visitCtes(withClause, ctes);
    this.#visitSelect(larg, visible);
    this.#visitSelect(rarg, visible);
    this.visit(rest, visible);
  }

  #visitLevel(statement: Statement, ctes: readonly string[]) {
    // The lockingClause only names relations of `from` again, so this check skips it.
    const { withClause, relation, fromClause, usingClause, sourceRelation, lockingClause, ...rest } = statement;
    const visible = this.#visitCtes(withClause, ctes);
    const conditions: Condition[] = [];
    const from = [
      ...(relation ? [{ RangeVar: relation }] : []),
      ...(fromClause ?? []),
      ...(usingClause ?? []),
      ...(sourceRelation ? [sourceRelation] : []),
    ];
    const relations = from.flatMap(node => this.#relationsOf(node, visible, conditions));
    for (const node of [statement.whereClause, statement.joinCondition]) {
      conditions.push(...conjunctsOf(node).map(one => ({ node: one, limits: relations })));
    }
    for (const one of relations) {
      if (one.column !== undefined) this.#requireFilter(one, one.column, relations, conditions);
    }
    this.visit(rest, visible);
  }

  #visitInsert(insert: InsertStmt, ctes: readonly string[]) {
    const { withClause, relation, cols = [], ...rest } = insert;
    const visible = this.#visitCtes(withClause, ctes);
    const table = relation?.relname ?? '';
    const column = this.#columns.get(table);
    // The statement that inserts a new account has no account id, because PostgreSQL generates this id.
    if (column !== undefined && column !== 'id') {
      const place = cols.findIndex(node => 'ResTarget' in node && node.ResTarget.name === column);
      if (place < 0) this.#problems.push(`inserts into ${table} without ${column}`);
      else this.#noteParameters(valuesAt(insert, place));
      const target = insert.onConflictClause?.infer?.indexElems;
      if (target && !target.some(node => 'IndexElem' in node && node.IndexElem.name === column)) {
        this.#problems.push(`has a conflict target on ${table} without ${column}`);
      }
    }
    this.visit(rest, visible);
  }

  /** Visits the queries of a `with` clause. Returns the names of the CTEs that are visible after the clause. */
  #visitCtes(withClause: WithClause | undefined, ctes: readonly string[]): readonly string[] {
    const own = (withClause?.ctes ?? []).flatMap(node => ('CommonTableExpr' in node ? [node.CommonTableExpr] : []));
    let visible = withClause?.recursive ? [...ctes, ...own.map(({ ctename = '' }) => ctename)] : ctes;
    for (const { ctename = '', ctequery } of own) {
      this.visit(ctequery, visible);
      visible = [...visible, ctename];
    }
    return visible;
  }

  #relationsOf(node: Node, ctes: readonly string[], conditions: Condition[]): Relation[] {
    if ('RangeVar' in node) {
      const { relname = '', alias } = node.RangeVar;
      const column = ctes.includes(relname) ? undefined : this.#columns.get(relname);
      return [{ alias: alias?.aliasname ?? relname, column }];
    }
    if ('JoinExpr' in node) return this.#relationsOfJoin(node.JoinExpr, ctes, conditions);
    this.visit(node, ctes);
    return [{ alias: aliasOf(node) }];
  }

  #relationsOfJoin(join: JoinExpr, ctes: readonly string[], conditions: Condition[]): Relation[] {
    const left = join.larg ? this.#relationsOf(join.larg, ctes, conditions) : [];
    const right = join.rarg ? this.#relationsOf(join.rarg, ctes, conditions) : [];
    // In an outer join, the `on` condition removes no rows of the outer side.
    const limits = {
      JOIN_INNER: [...left, ...right],
      JOIN_LEFT: right,
      JOIN_RIGHT: left,
    }[join.jointype as string];
    conditions.push(...conjunctsOf(join.quals).map(one => ({ node: one, limits: limits ?? [] })));
    this.visit(join.quals, ctes);
    return [...left, ...right];
  }

  #requireFilter(relation: Relation, column: string, level: readonly Relation[], conditions: readonly Condition[]) {
    // A column name without an alias belongs to a relation only if no other relation of the statement has this column.
    const isAlone = level.filter(other => column === 'id' || other.column === column).length === 1;
    for (const { node, limits } of conditions) {
      if (!limits.includes(relation)) continue;
      for (const [side, other] of sidesOfEquation(node)) {
        const [name, alias] = namesOf(side).reverse();
        const parameter = this.#parameterOf(other);
        if (name !== column || parameter === undefined) continue;
        if (alias === relation.alias || (alias === undefined && isAlone)) {
          this.#parameters.add(parameter);
          return;
        }
      }
    }
    this.#problems.push(`has no filter ${relation.alias}.${column}`);
  }

  #noteParameters(nodes: readonly (Node | undefined)[]) {
    for (const node of nodes) {
      const parameter = this.#parameterOf(node);
      if (parameter !== undefined) this.#parameters.add(parameter);
    }
  }

  #parameterOf(node: Node | undefined): string | undefined {
    if (!node) return undefined;
    if ('TypeCast' in node) return this.#parameterOf(node.TypeCast.arg);
    if ('ParamRef' in node) return `$${node.ParamRef.number}`;
    const name = namesOf(node).join('.');
    return this.#functionParameters.get(name);
  }
}

function conjunctsOf(node: Node | undefined): Node[] {
  if (!node) return [];
  if ('BoolExpr' in node && node.BoolExpr.boolop === 'AND_EXPR') return (node.BoolExpr.args ?? []).flatMap(conjunctsOf);
  return [node];
}

/** Returns the two sides of the equation `a = b` in both orders. Returns an empty list for any other expression. */
function sidesOfEquation(node: Node): [Node, Node][] {
  if (!('A_Expr' in node)) return [];
  const { kind, name, lexpr, rexpr } = node.A_Expr;
  if (kind !== 'AEXPR_OP' || !lexpr || !rexpr || textOf(name?.[0]) !== '=') return [];
  return [
    [lexpr, rexpr],
    [rexpr, lexpr],
  ];
}

/** Returns the parts of a column reference. For example, the parts of `i.account_id` are `i` and `account_id`. */
function namesOf(node: Node): string[] {
  return 'ColumnRef' in node ? (node.ColumnRef.fields ?? []).map(field => textOf(field) ?? '*') : [];
}

function textOf(node: Node | undefined): string | undefined {
  return node && 'String' in node ? node.String.sval : undefined;
}

function aliasOf(node: Node): string {
  const [item] = Object.values(node) as { alias?: { aliasname?: string } }[];
  return item?.alias?.aliasname ?? '';
}

/** Returns the values that an insert writes to the column with the given index. */
function valuesAt({ selectStmt }: InsertStmt, place: number): (Node | undefined)[] {
  if (!selectStmt || !('SelectStmt' in selectStmt)) return [];
  const { valuesLists, targetList } = selectStmt.SelectStmt;
  if (valuesLists) return valuesLists.map(row => ('List' in row ? row.List.items?.[place] : undefined));
  const target = targetList?.[place];
  return [target && 'ResTarget' in target ? target.ResTarget.val : undefined];
}

function readFunction({ funcname, parameters = [], options = [], sql_body }: CreateFunctionStmt) {
  const values = new Map(
    options.flatMap(node => ('DefElem' in node ? [[node.DefElem.defname, node.DefElem.arg]] : [])),
  );
  const as = values.get('as');
  const name = textOf(funcname?.at(-1)) ?? '';
  const inputs = parameters.flatMap(node => {
    const { name: input, mode } = 'FunctionParameter' in node ? node.FunctionParameter : {};
    return input === undefined || mode === 'FUNC_PARAM_OUT' || mode === 'FUNC_PARAM_TABLE' ? [] : [input];
  });
  return {
    name,
    language: textOf(values.get('language')),
    body: sql_body ?? textOf(as && 'List' in as ? as.List.items?.[0] : undefined),
    // PostgreSQL also accepts the notation `function_name.parameter`, which distinguishes a parameter from a column of
    // the same name.
    parameters: new Map(inputs.flatMap(input => [input, `${name}.${input}`].map(written => [written, input]))),
  };
}

/** The types of the syntax tree nodes that stand for dynamic SQL in PL/pgSQL. */
const dynamicParts = ['PLpgSQL_stmt_dynexecute', 'PLpgSQL_stmt_dynfors', 'dynquery'];

/**
 * The parse modes that PL/pgSQL uses for statements and for expressions. PL/pgSQL uses all other modes for assignments.
 */
const parseModes = { statement: 0, expression: 2 };

/** Returns all SQL of a PL/pgSQL function. Turns each expression into a `select` statement. */
function statementsOf(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null) return [];
  if (!('PLpgSQL_expr' in tree)) return Object.values(tree).flatMap(statementsOf);
  const { query, parseMode } = tree.PLpgSQL_expr as { query: string; parseMode: number };
  if (parseMode === parseModes.statement) return [query];
  return [`select ${parseMode === parseModes.expression ? query : query.replace(/^[^:=]*:?=/, '')}`];
}

function holds(tree: unknown, type: string): boolean {
  if (typeof tree !== 'object' || tree === null) return false;
  return type in tree || Object.values(tree).some(one => holds(one, type));
}
