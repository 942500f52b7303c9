import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const require = createRequire(import.meta.url);

/** The path of the OpenAPI document, the only input of every client generator. */
export const document = fileURLToPath(new URL('../../contract/openapi.json', import.meta.url));

/** The path of TypeScript 5. The client generators do not support the compiler API of TypeScript 7. */
export const compilerApi = require.resolve('typescript');

/** The path of the TypeScript 7 compiler, which is five times as fast as TypeScript 5. */
const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));

/** A client that a third-party tool generates, and a program that uses it. */
export interface Consumer {
  name: string;
  /** Generates the client and writes it into the directory. */
  generate(directory: string, baseUrl: string): Promise<unknown>;
  /** The compiler flags beyond `--strict`. The generated code compiles with all of these flags. */
  flags: string[];
  /**
   * A module that exports the function `use(baseUrl, tokens)`. The function creates an idea, votes on it, lists the
   * ideas, gets one error, and returns an Outcome. The line after each `@ts-expect-error` has a type error.
   */
  program: string;
}

export interface Outcome {
  created: { id: number; title: string };
  tally: { score: number; my_vote: string };
  titles: string[];
  refusal: { status: number; key: string };
}

/** Generates the client, compiles the program as a separate project, and runs it. */
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

/** Runs a Node program in a directory. If the program fails, throws an error whose message is the output. */
export async function run(args: string[], cwd: string): Promise<string> {
  try {
    return (await execute(process.execPath, args, { cwd })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout}${stderr}`);
  }
}
