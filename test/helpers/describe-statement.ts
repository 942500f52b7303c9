import type { EventEmitter } from 'node:events';
import type pg from 'pg';

/** The types of a statement's parameters and result columns, as PostgreSQL's format_type() names them. */
export interface StatementDescription {
  parameterTypes: string[];
  columns: { name: string; type: string }[];
}

interface Field {
  name: string;
  dataTypeID: number;
}

/**
 * The methods of a connection that send protocol messages. The types of the package `pg` do not declare these methods.
 */
interface Connection extends EventEmitter {
  parse(message: { text: string }): void;
  describe(message: { type: 'S' }): void;
  sync(): void;
}

/** Lets PostgreSQL parse and describe a statement. Rejects with PostgreSQL's error if the statement is invalid. */
export async function describeStatement(client: pg.Client, text: string): Promise<StatementDescription> {
  const { parameters, fields } = await new Promise<{ parameters: number[]; fields: Field[] }>((resolve, reject) => {
    let parameters: number[] = [];
    let fields: Field[] = [];
    let failure: Error | undefined;
    const noteParameters = (message: { dataTypeIDs: number[] }) => {
      parameters = message.dataTypeIDs;
    };
    const submittable = {
      submit(connection: Connection) {
        connection.once('parameterDescription', noteParameters);
        connection.parse({ text });
        connection.describe({ type: 'S' });
        connection.sync();
      },
      handleRowDescription(message: { fields: Field[] }) {
        fields = message.fields;
      },
      handleReadyForQuery(connection: Connection) {
        connection.off('parameterDescription', noteParameters);
        resolve({ parameters, fields });
      },
      handleError(error: Error, connection: Connection) {
        connection.off('parameterDescription', noteParameters);
        failure = error;
        reject(failure);
      },
    };
    client.query(submittable as unknown as pg.Submittable);
  });
  const oids = [...parameters, ...fields.map(({ dataTypeID }) => dataTypeID)];
  const { rows } = await client.query<{ name: string }>(
    'select format_type(oid, null) as name from unnest($1::oid[]) with ordinality as t (oid, place) order by place',
    [oids],
  );
  const names = rows.map(({ name }) => name);
  return {
    parameterTypes: names.slice(0, parameters.length),
    columns: fields.map(({ name }, place) => ({ name, type: names[parameters.length + place] ?? '' })),
  };
}
