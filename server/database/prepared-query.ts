import pg from 'pg';

/** The internal parts of pg's query that this file uses. The types of pg omit them. */
interface QueryInternals {
  name: string;
  _result: Description;
  _accumulateRows: boolean;
  prepare(connection: Connection): void;
  handleCommandComplete(message: object, connection: Connection): void;
}

/** The columns of a statement, with the data that pg derives from them to read the rows. */
interface Description {
  fields: unknown;
  _parsers: unknown;
  _prebuiltEmptyResultObject: unknown;
}

interface Connection {
  describe(message: object): void;
}

export type Callback = (error: Error | null, result: pg.QueryResult) => void;

const Query = pg.Query as unknown as new (text: string, values: unknown[], callback: Callback) => QueryInternals;

/**
 * A prepared statement that asks PostgreSQL for its columns only when a connection runs it for the first time. pg's own
 * class asks each time, which takes 6 percent of the CPU time of reading an idea. The columns cannot change later: if a
 * migration changes them, PostgreSQL refuses to run the prepared statement.
 */
export class PreparedQuery extends Query {
  constructor(name: string, text: string, values: unknown[], callback: Callback) {
    super(text, values, callback);
    this.name = name;
  }

  override prepare(connection: Connection) {
    const { descriptions, undescribed } = preparedOn(connection);
    const known = descriptions.get(this.name);
    if (!known) return super.prepare(connection);
    Object.assign(this._result, known);
    this._accumulateRows = true;
    super.prepare(undescribed);
  }

  override handleCommandComplete(message: object, connection: Connection) {
    super.handleCommandComplete(message, connection);
    const { descriptions } = preparedOn(connection);
    if (descriptions.has(this.name)) return;
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
    descriptions.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }
}

interface Prepared {
  /** The descriptions of the statements that the connection has run, by name. */
  descriptions: Map<string, Description>;
  /** The same connection, but it does not ask PostgreSQL for the columns of a statement. */
  undescribed: Connection;
}

const preparedByConnection = new WeakMap<Connection, Prepared>();

function preparedOn(connection: Connection): Prepared {
  let prepared = preparedByConnection.get(connection);
  if (!prepared) {
    const undescribed = Object.create(connection, { describe: { value() {} } });
    prepared = { descriptions: new Map(), undescribed };
    preparedByConnection.set(connection, prepared);
  }
  return prepared;
}
