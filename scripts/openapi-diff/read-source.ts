import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text as textOfStream } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { DocumentError } from './document.ts';

const run = promisify(execFile);

/** The default path at a Git revision: Idea-Board's own OpenAPI document. */
const documentPath = 'contract/openapi.json';

/** The timeout for fetching a document from a URL. */
const fetchTimeoutMs = 30_000;

/** The text of a document, with its file name if it came from a file. */
export interface Source {
  name: string;
  text: string;
  file: string | undefined;
}

/** Reads `-` (standard input), a URL, a file, `git:REVISION`, `git:REVISION:PATH` or `REVISION:PATH`. */
export async function readSource(name: string, headers: readonly string[] = []): Promise<Source> {
  const file = undefined;
  if (name === '-') return { name: 'standard input', text: await textOfStream(process.stdin), file };
  if (/^https?:\/\//i.test(name)) return { name: withoutSecrets(name), text: await readUrl(name, headers), file };
  // The name of an existing file may contain a colon, like a revision with a path.
  if (name.startsWith('git:') || (!existsSync(name) && /^[^:]+:./.test(name))) {
    return { name, text: await readRevision(name), file };
  }
  try {
    return { name, text: await readFile(name, 'utf8'), file: name };
  } catch (error) {
    throw new DocumentError(`${name} cannot be read: ${reasonOf(error)}`);
  }
}

async function readUrl(url: string, listed: readonly string[]): Promise<string> {
  const name = withoutSecrets(url);
  let response: Response;
  try {
    const headers = new Headers({ accept: 'application/json, application/yaml;q=0.9, */*;q=0.1' });
    for (const [key, value] of listed.map(parseHeader)) headers.set(key, value);
    response = await fetch(url, { headers, signal: AbortSignal.timeout(fetchTimeoutMs) });
    if (response.ok) return await response.text();
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    const { cause } = error as Error;
    throw new DocumentError(`${name} cannot be fetched: ${reasonOf(cause instanceof Error ? cause : error)}`);
  }
  throw new DocumentError(`${name} answers ${response.status} ${response.statusText}`.trimEnd());
}

/** Splits a header such as `Name: value`. Error messages do not contain the value, because it may be a secret. */
function parseHeader(text: string): [name: string, value: string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new DocumentError('a header must have the form "Name: value"');
  return [name, value];
}

/** Removes passwords and tokens from a URL, because the URL may appear in the log of a CI system. */
function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

async function readRevision(name: string): Promise<string> {
  const revision = name.replace(/^git:/, '');
  const object = revision.includes(':') ? revision : `${revision}:${documentPath}`;
  try {
    // Git would read a revision with a leading dash as an option.
    if (object.startsWith('-')) throw new Error('no revision begins with a dash');
    const { stdout } = await run('git', ['cat-file', 'blob', object], { maxBuffer: 256 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n')[0];
    throw new DocumentError(`${name} cannot be read from git: ${said || reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  return (message || code || String(error)).replace(/\s+/g, ' ');
}
