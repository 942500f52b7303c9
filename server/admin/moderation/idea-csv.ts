import { stringify } from 'csv-stringify/sync';
import type { Idea } from '../../../contract/idea.ts';

/** The columns of the file. The import of CSV files recognizes the names of most columns, and ignores the others. */
const columns = [
  ...(['id', 'title', 'body', 'status', 'status_label', 'tags', 'score', 'up_count', 'down_count'] as const),
  ...(['comment_count', 'author_name', 'created_at', 'updated_at', 'url'] as const),
];

type Row = Record<(typeof columns)[number], string | number>;

/**
 * Writes ideas as lines of a CSV file (RFC 4180). The first lines begin with the names of the columns, and with a byte
 * order mark, because spreadsheets otherwise misread letters such as ü.
 *
 * A spreadsheet runs a text that begins with a sign such as `=` as a formula. Anybody can write such a title, so the
 * file has an apostrophe before this sign.
 */
export function ideasInCsv(ideas: readonly Idea[], isFirst: boolean): string {
  const options = { columns, header: isFirst, bom: isFirst, escape_formulas: true, record_delimiter: 'windows' };
  return stringify(ideas.map(rowOf), options);
}

function rowOf({ status_key, tags, author, ...idea }: Idea): Row {
  return { ...idea, status: status_key, tags: tags.map(({ name }) => name).join(', '), author_name: author.name };
}
