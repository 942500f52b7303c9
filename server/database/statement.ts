/** A fixed SQL text whose rows have the shape Row. */
export interface Statement<Row> {
  /** Under which name each connection prepares it once; without one PostgreSQL plans it anew for its values. */
  readonly name: string | undefined;
  readonly text: string;
  readonly '~row'?: Row;
}

const namesByText = new Map<string, string>();

/** Defines a prepared statement. The name is unique in the program. */
export function statement<Row>(name: string, text: string): Statement<Row> {
  namesByText.set(text, name);
  return { name, text };
}

/** Defines a statement whose best plan depends on its values. */
export function plannedStatement<Row>(text: string): Statement<Row> {
  return { name: undefined, text };
}

/** The name under which a text was defined as a prepared statement, if it was. */
export function statementName(text: string): string | undefined {
  return namesByText.get(text);
}
