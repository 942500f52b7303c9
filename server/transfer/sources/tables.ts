import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse } from 'csv-parse';
import { AdministrationError } from '../../domain/administration.ts';
import { openInput, readJson } from '../input.ts';

/** A row of a CSV file, or an object of a JSON file. */
export interface Row {
  place: string;
  fields: Readonly<Record<string, unknown>>;
}

/**
 * Reads a CSV file row by row. The first line has the names of the columns. Skips a row that was damaged before the
 * import, and refuses it. Without a function to refuse rows, throws instead.
 */
export async function* readCsv(
  path: string,
  refusing: { refuse(place: string, problem: string): void } = throwing,
): AsyncIterable<Row> {
  const parser = (await openInput(path)).pipe(
    parse({ columns: true, bom: true, info: true, skip_empty_lines: true, relax_column_count: true }),
  );
  let line = 2;
  try {
    for await (const { record, info } of parser as AsyncIterable<ParsedRow>) {
      const place = `${basename(path)}, line ${line}`;
      const problem = damageOf(record, info);
      if (problem === undefined) yield { place, fields: record };
      else refusing.refuse(place, problem);
      // A quoted field may contain line breaks. The parser reports the last line of the row.
      line = info.lines + 1;
    }
  } catch (error) {
    throw new AdministrationError('invalid', `${path}, line ${line}: ${(error as Error).message}`);
  }
}

interface ParsedRow {
  record: Readonly<Record<string, string>>;
  info: { lines: number; error?: { record: readonly string[] } };
}

const throwing = {
  refuse(_place: string, problem: string) {
    throw new Error(problem);
  },
};

/** Returns how a row was damaged. A row may have fewer fields than the header, because some programs omit empty fields. */
function damageOf(record: ParsedRow['record'], { error }: ParsedRow['info']): string | undefined {
  const extra = error?.record.slice(Object.keys(record).length) ?? [];
  if (extra.some(field => field.trim() !== '')) {
    return 'The row has more fields than the header. Put a text with a separator in quotation marks.';
  }
  // The parser replaces each invalid byte by this character.
  return Object.values(record).some(field => field.includes('\ufffd'))
    ? 'The row is not in UTF-8, or contains the character U+FFFD. Save the file in UTF-8.'
    : undefined;
}

/**
 * Reads the issues, posts or comments in a JSON file. The file contains a response of an API, an array of objects, or
 * an array of responses.
 */
export async function readObjects(path: string): Promise<Row[]> {
  const objects = [...objectsIn(await readJson(path))];
  return objects.map((fields, index) => ({ place: `${basename(path)}, item ${index + 1}`, fields }));
}

/**
 * Finds the objects with a field `id` or `number`, such as issues and comments. Searches all other objects and lists
 * recursively, such as the responses of an API.
 */
function* objectsIn(value: unknown): Iterable<Row['fields']> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value) && ('id' in value || 'number' in value)) yield value as Row['fields'];
  else for (const part of Object.values(value)) yield* objectsIn(part);
}

/**
 * Reads a table of a directory: `posts.csv`, or `posts.json`. Returns no rows if the directory has neither file, unless
 * the table is required.
 */
export async function readTable(directory: string, name: string, { isRequired = false } = {}): Promise<Row[]> {
  for (const ending of ['csv', 'json']) {
    const path = join(directory, `${name}.${ending}`);
    if (!(await exists(path))) continue;
    return ending === 'csv' ? Array.fromAsync(readCsv(path)) : readRows(path);
  }
  if (!isRequired) return [];
  throw new AdministrationError('not_found', `${directory} has neither ${name}.csv nor ${name}.json`);
}

/**
 * Reads the rows of a table in JSON. The rows of a table that only connects two other tables have no field `id`, so
 * readObjects() would not find them.
 */
async function readRows(path: string): Promise<Row[]> {
  const value = await readJson(path);
  if (!Array.isArray(value) || value.some(one => typeof one !== 'object' || one === null)) return readObjects(path);
  const isOfPages = value.some(one =>
    Object.values(one).some(part => Array.isArray(part) && part.length > 0 && !('id' in one)),
  );
  if (isOfPages) return readObjects(path);
  return value.map((fields, index) => ({ place: `${basename(path)}, item ${index + 1}`, fields }));
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Returns a value inside an object, or undefined. */
export function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (inside, name) =>
      typeof inside === 'object' && inside !== null ? (inside as Record<string, unknown>)[name] : undefined,
    value,
  );
}
