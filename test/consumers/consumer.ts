import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const require = createRequire(import.meta.url);

/** The document, which is all that a consumer gets. */
export const document = fileURLToPath(new URL('../../contract/openapi.json', import.meta.url));

/** What generators read and write programs with: the API of TypeScript 7 is not the one that they know. */
export const compilerApi = require.resolve('typescript');

/** What consumers compile with: TypeScript 7, which takes a fifth of the time for the same judgement. */
const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

/** A client that a tool of another maker generates, and a program that somebody wrote on top of it. */
export interface Consumer {
  name: string;
  /** Writes the client into the directory. */
  generate(directory: string, baseUrl: string): Promise<unknown>;
  /** What the compiler demands beyond `--strict`, as far as what the tool writes bears it. */
  flags: string[];
  /**
   * A module that exports `use(baseUrl, tokens)`, which creates an idea, votes on it, lists the ideas and is refused,
   * and answers an Outcome. Each line after `@ts-expect-error` has to be one that does not compile.
   */
  program: string;
}

export interface Outcome {
  created: { id: number; title: string };
  tally: { score: number; my_vote: string };
  titles: string[];
  refusal: { status: number; key: string };
}

/** Generates the client, compiles the program with it as a project of its own would, and runs it. */
export async function consume(
  { generate, flags, program }: Consumer,
  baseUrl: string,
  tokens: { write: string; read: string },
): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-consumer-'));
  try {
    await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
    await generate(directory, baseUrl);
    await writeFile(join(directory, 'program.ts'), program);
    const options = [
      '--strict',
      '--skipDefaultLibCheck',
      '--singleThreaded',
      ...flags,
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--outDir',
      'dist',
    ];
    await run([compiler, ...options, 'program.ts'], directory);
    const start = `
      import { use } from './dist/program.js';
      console.log(JSON.stringify(await use(${JSON.stringify(baseUrl)}, ${JSON.stringify(tokens)})));
    `;
    return JSON.parse(await run(['--input-type=module', '--eval', start], directory));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs a Node program in a directory; what it complains about is the message of the error. */
export async function run(args: string[], cwd: string): Promise<string> {
  try {
    return (await execute(process.execPath, args, { cwd })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`);
  }
}
