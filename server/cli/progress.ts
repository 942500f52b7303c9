import type { ImportCounts } from '../transfer/import-account.ts';

/** The minimum time between two lines of progress, if the output is not a terminal. */
const lineIntervalMs = 10_000;
const barWidth = 24;

/**
 * Shows the progress of an import: a bar on a terminal, and otherwise at most one line every ten seconds. `meter`
 * counts the bytes that the import has read. Without the total number of bytes, shows only the number of records.
 */
export function showProgress(stream: NodeJS.WriteStream, totalBytes: number | undefined, meter: { bytes: number }) {
  const isTerminal = stream.isTTY === true;
  let shownAt = Date.now();
  let bar = '';
  const clear = () => {
    if (bar !== '') stream.write(`\r${' '.repeat(bar.length)}\r`);
  };
  return {
    update(counts: ImportCounts) {
      const share = totalBytes ? Math.min(meter.bytes / totalBytes, 1) : undefined;
      const percent = share === undefined ? '' : `${Math.floor(share * 100)} %, `;
      const text = `${percent}${countAll(counts).toLocaleString('en-US')} records`;
      if (isTerminal) {
        clear();
        const done = Math.round((share ?? 0) * barWidth);
        bar = share === undefined ? text : `[${'#'.repeat(done)}${'-'.repeat(barWidth - done)}] ${text}`;
        stream.write(bar);
      } else if (Date.now() - shownAt >= lineIntervalMs) {
        shownAt = Date.now();
        stream.write(`${text}\n`);
      }
    },
    /** Writes a line above the progress bar. */
    say(line: string) {
      clear();
      stream.write(`${line}\n`);
      if (bar !== '') stream.write(bar);
    },
    end() {
      clear();
      bar = '';
    },
  };
}

function countAll({ imported, skipped, refused }: ImportCounts): number {
  return [...Object.values(imported), ...Object.values(skipped)].reduce((sum, count) => sum + count, refused);
}
