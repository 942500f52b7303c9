export interface OutputOptions {
  json: boolean;
}

/** Prints a result as JSON, or as the text that `human` returns. Converts the result's times to RFC 3339 in UTC. */
export function print<T>(options: OutputOptions, value: T, human: (value: T) => string) {
  const readable = withReadableTimes(value) as T;
  process.stdout.write(`${options.json ? JSON.stringify(readable, null, 2) : human(readable)}\n`);
}

type Cell = string | number | boolean | null | undefined | readonly string[];

type CellKey<Row> = { [Key in keyof Row & string]: Row[Key] extends Cell ? Key : never }[keyof Row & string];

/**
 * A column of a table. A property name alone gives the heading and the cells. A pair consists of a heading and the
 * source of the cells: a property name or a function.
 */
type Column<Row> = CellKey<Row> | readonly [heading: string, cell: CellKey<Row> | ((row: Row) => Cell)];

export function formatTable<Row>(rows: readonly Row[], ...columns: Column<NoInfer<Row>>[]): string {
  if (rows.length === 0) return 'None.';
  const headings = columns.map(column => (typeof column === 'string' ? headingOf(column) : column[0]).toUpperCase());
  const lines = [headings, ...rows.map(row => columns.map(column => formatCell(cellOf(row, column))))];
  const widths = headings.map((_, column) => Math.max(...lines.map(line => widthOf(line[column]))));
  return lines
    .map(line => line.map((text, column) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text))))
    .map(line => line.join('  ').trimEnd())
    .join('\n');
}

/** Formats one object with a line for each property. `headings` replaces the labels of some properties. */
export function formatFacts<Facts extends Record<string, Cell>>(
  facts: Facts,
  headings: { [Name in keyof Facts]?: string } = {},
): string {
  const rows = Object.entries(facts).map(
    ([name, value]) => [headings[name] ?? headingOf(name), formatCell(value)] as const,
  );
  const width = Math.max(...rows.map(([heading]) => widthOf(heading)));
  return rows.map(([heading, value]) => `${heading.padEnd(width)}  ${value}`).join('\n');
}

/** Turns a property name into a heading: `is_frozen` becomes `frozen`, and `last_used_at` becomes `last used`. */
function headingOf(name: string): string {
  return name.replace(/^is_|_at$/g, '').replaceAll('_', ' ');
}

function cellOf<Row>(row: Row, column: Column<Row>): Cell {
  const cell = typeof column === 'string' ? column : column[1];
  return typeof cell === 'function' ? cell(row) : (row[cell] as Cell);
}

/**
 * Removes line breaks and control characters. A text with control characters could manipulate the operator's terminal.
 */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal must not get these characters.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ');
}

export function shorten(text: string, max = 60): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}

function formatCell(value: Cell): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? formatCell(value.join(', ')) : oneLine(String(value));
}

function widthOf(text: string | undefined): number {
  return [...(text ?? '')].length;
}

/** Converts times from PostgreSQL's format to RFC 3339. A property contains a time if its name ends in `_at`. */
function withReadableTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReadableTimes);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, one]) => [
    key,
    key.endsWith('_at') && typeof one === 'string' ? new Date(one).toISOString() : withReadableTimes(one),
  ]);
  return Object.fromEntries(entries);
}
