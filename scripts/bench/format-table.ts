/**
 * Formats rows as a table. The first column is aligned to the left, and all other columns are aligned to the right. The
 * first row must have all columns.
 */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  return rows.map(row => row.map(pad).join('  ')).join('\n');
}
