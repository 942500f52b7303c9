import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AdministrationError } from '../domain/administration.ts';
import { parseEnd, parseHeader } from './archive.ts';
import type { Placed } from './import-batch.ts';

/** Counts the bytes that an import has read from its file. */
export interface ReadMeter {
  bytes: number;
}

/** Opens a file. Decompresses the file if it begins like a gzip file, whatever its name is. */
export async function openInput(path: string, meter: ReadMeter = { bytes: 0 }): Promise<Readable> {
  const isCompressed = await beginsLikeGzip(path);
  const file = createReadStream(path, { highWaterMark: 1 << 18 });
  file.on('data', chunk => {
    meter.bytes += chunk.length;
  });
  if (!isCompressed) return file;
  const gunzip = createGunzip();
  file.on('error', error => gunzip.destroy(error));
  return file.pipe(gunzip);
}

async function beginsLikeGzip(path: string): Promise<boolean> {
  const file = await open(path).catch((error: Error) => {
    throw new AdministrationError('not_found', `The file cannot be read: ${error.message}`);
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

/**
 * Reads an archive record by record. Throws if the first line is not the header of an archive. The last value has a
 * problem if the archive is incomplete.
 */
export async function* readArchive(path: string, meter: ReadMeter): AsyncIterable<Placed> {
  let number = 0;
  let hasEnd = false;
  let end: number | undefined;
  let count = 0;
  for await (const lines of linesOf(await openInput(path, meter))) {
    for (const line of lines) {
      number += 1;
      if (number === 1) hasEnd = parseHeader(parseLine(line).value).hasEnd;
      else if (line.trim() !== '') {
        const parsed = parseLine(line);
        end = hasEnd ? parseEnd(parsed.value) : undefined;
        if (end !== undefined) continue;
        count += 1;
        yield { place: `line ${number}`, ...parsed };
      }
    }
  }
  if (number === 0) throw new AdministrationError('invalid', 'The file is empty');
  if (hasEnd && end !== count) {
    const difference = end === undefined ? 'it has no end' : `it has ${count} records instead of ${end}`;
    const problem = `The archive is incomplete: ${difference}. Copy or export it again, and repeat the import.`;
    yield { place: `line ${number}`, value: null, problem };
  }
}

function parseLine(line: string): Pick<Placed, 'value' | 'problem'> {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return { value: null, problem: 'The line is not JSON' };
  }
}

/**
 * Splits a stream at line feeds. Returns the lines of a chunk together, because a step of an asynchronous iteration takes
 * longer than the split of a line. The lines of Node's readline would also end at U+2028, which a JSON text may contain.
 */
async function* linesOf(stream: Readable): AsyncIterable<string[]> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield lines;
  }
  if (rest !== '') yield [rest];
}

/** Reads a whole JSON file. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AdministrationError('invalid', `${path} is not JSON: ${(error as Error).message}`);
  }
}
