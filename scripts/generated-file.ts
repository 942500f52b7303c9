import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Writes a generated file. With `--check`, the function does not write the file. Instead, the function fails if the
 * stored file differs, and prints the command that updates the stored file.
 */
export function writeGenerated(path: string, text: string, command: string) {
  const file = new URL(`../${path}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${path} is out of date: run npm run ${command} and commit the result`);
    process.exitCode = 1;
  }
}

/** Formats rows as a Markdown table. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  return `${line(head)}|${'---|'.repeat(head.length)}\n${rows.map(line).join('')}`;
}

const marks = /(<!-- Written by [^>]* -->\n)[\s\S]*(<!-- End of the generated part -->\n)/;

/**
 * Writes the generated part of a file, which is between two marker comments. With `--check`, the function fails instead
 * if the stored part differs.
 */
export function writeGeneratedPart(path: string, part: string, command: string) {
  const text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  if (!marks.test(text)) throw new Error(`${path} has no marks around a generated part`);
  const written = text.replace(marks, (_, begin: string, end: string) => `${begin}\n${part}\n${end}`);
  writeGenerated(path, written, command);
}
