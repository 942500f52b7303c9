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
 * A spreadsheet runs a text that begins with a sign such as `=` as a formula. Anybody can write such a text, so the file
 * has an apostrophe before it.
 */
export function ideasInCsv(ideas: readonly Idea[], isFirst: boolean): string {
  const options = { columns, header: isFirst, bom: isFirst, quoted_string: true, record_delimiter: 'windows' };
  return stringify(ideas.map(rowOf), { ...options, cast: { string: escapeFormulas } });
}

/**
 * The beginning of a formula. In some countries, spreadsheets separate cells at semicolons. They then ignore the
 * quotation marks around our texts, because a comma is before these marks. So a cell can also begin inside a text, after
 * a semicolon, a tab or a line break. Spreadsheets remove quotation marks and spaces at the beginning of a cell.
 */
const formulaStart = /(?<=^|[;\t\r\n])[ "]*[=+\-@＝＋－＠]/g;

function escapeFormulas(text: string): string {
  return text.replace(formulaStart, "'$&");
}

function rowOf({ status_key, tags, author, ...idea }: Idea): Row {
  return { ...idea, status: status_key, tags: tags.map(({ name }) => name).join(', '), author_name: author.name };
}
