import { AdministrationError } from '../../domain/administration.ts';
import { digest, ForeignRecords, type Source, textOf } from './foreign-records.ts';
import { readCsv } from './tables.ts';

/**
 * The fields of an idea in a CSV file, each with the headers that the import recognizes without the option --column.
 */
const fields = {
  id: ['id', 'number'],
  title: ['title', 'subject', 'summary'],
  body: ['body', 'description', 'details', 'content'],
  status: ['status', 'state'],
  board: ['board'],
  tags: ['tags', 'labels'],
  author_name: ['author_name', 'author', 'created_by'],
  author_email: ['author_email', 'email'],
  votes: ['votes', 'vote_count', 'votes_count', 'score'],
  created_at: ['created_at', 'created', 'date'],
} as const;
const csvFields = Object.keys(fields) as (keyof typeof fields)[];

/** A CSV file with an idea in each line. */
export const readPlainCsv: Source = async function* (path, options) {
  const unknown = [...options.columns.keys()].find(field => !Object.hasOwn(fields, field));
  if (unknown !== undefined) {
    throw new AdministrationError('invalid', `--column ${unknown}: the fields are ${csvFields.join(', ')}`);
  }
  const records = new ForeignRecords(options);
  let headers: Partial<Record<keyof typeof fields, string>> | undefined;
  for await (const { place, fields: row } of readCsv(path, records)) {
    headers ??= findHeaders(Object.keys(row), options.columns);
    const cell = (field: keyof typeof fields) => textOf(row[headers?.[field] ?? '']);
    const createdAt = cell('created_at') || options.now.toISOString();
    const board = cell('board');
    const identity = [cell('title'), cell('created_at'), board || options.board, cell('body')];
    records.idea(place, {
      id: records.id('row', cell('id') || digest(JSON.stringify(identity))),
      board: board === '' ? records.onlyBoard(place) : records.board(place, board),
      status: cell('status'),
      author: records.person(place, { name: cell('author_name'), email: cell('author_email') }),
      title: cell('title'),
      body: cell('body'),
      tags: cell('tags')
        .split(/[,;]/)
        .map(name => ({ name })),
      createdAt,
      votes: cell('votes'),
    });
    yield* records.take();
  }
  yield* records.take();
};

/** Finds the header of each field: in the options --column, or by its usual names. */
function findHeaders(present: readonly string[], columns: ReadonlyMap<string, string>) {
  for (const [field, header] of columns) {
    if (!present.includes(header)) {
      throw new AdministrationError('invalid', `--column ${field}: the file has no column ${JSON.stringify(header)}`);
    }
  }
  const headers: Partial<Record<keyof typeof fields, string>> = {};
  for (const field of csvFields) {
    const usual = present.find(name => (fields[field] as readonly string[]).includes(name.trim().toLowerCase()));
    const header = columns.get(field) ?? usual;
    if (header !== undefined) headers[field] = header;
  }
  if (headers.title === undefined) {
    throw new AdministrationError(
      'invalid',
      'The file has no column for the title: name it with --column title=<header>',
    );
  }
  return headers;
}
