/** What every command is given by --json. */
export interface OutputOptions {
  json?: boolean;
}

/** Prints a result: as one JSON value, or as the text that human makes of it. Times become RFC 3339 in UTC. */
export function print<T>(options: OutputOptions, value: T, human: (value: T) => string) {
  const readable = withReadableTimes(value) as T;
  process.stdout.write(`${options.json ? JSON.stringify(readable, null, 2) : human(readable)}\n`);
}

type Cell = string | number | boolean | null | undefined;

/** Rows under aligned headings; each column is a heading and what stands under it. */
export function formatTable<Row>(rows: readonly Row[], columns: Record<string, (row: Row) => Cell>): string {
  if (rows.length === 0) return 'None.';
  const lines = [Object.keys(columns), ...rows.map(row => Object.values(columns).map(cell => formatCell(cell(row))))];
  const widths = Object.keys(columns).map((_, column) => Math.max(...lines.map(line => widthOf(line[column]))));
  return lines
    .map(line => line.map((text, column) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text))))
    .map(line => line.join('  ').trimEnd())
    .join('\n');
}

/** One thing, a line for each of its facts. */
export function formatFacts(facts: Record<string, Cell>): string {
  const width = Math.max(...Object.keys(facts).map(widthOf));
  return Object.entries(facts)
    .map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`)
    .join('\n');
}

/** Text on one line, without the control characters with which a title could take the operator's terminal over. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal must not be sent.
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ');
}

/** Text that fits into a column. */
export function shorten(text: string, max = 60): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}

function formatCell(value: Cell): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return oneLine(String(value));
}

function widthOf(text: string | undefined): number {
  return [...(text ?? '')].length;
}

/** Columns of times end in _at, and arrive as PostgreSQL writes them. */
function withReadableTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReadableTimes);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, one]) => [
    key,
    key.endsWith('_at') && typeof one === 'string' ? new Date(one).toISOString() : withReadableTimes(one),
  ]);
  return Object.fromEntries(entries);
}
