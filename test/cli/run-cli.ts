import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

const main = fileURLToPath(new URL('../../server/cli/main.ts', import.meta.url));

export interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Commands wait here: more than there are processors would only slow each other down. */
const waiting: (() => void)[] = [];
let freeProcessors = availableParallelism();

/** Runs the command line as a process of its own, with no settings but those given. */
export async function runCli(settings: Record<string, string>, ...parameters: string[]): Promise<CliResult> {
  if (freeProcessors === 0) await new Promise<void>(resolve => waiting.push(resolve));
  else freeProcessors--;
  try {
    return await start(settings, parameters);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else freeProcessors++;
  }
}

async function start(settings: Record<string, string>, parameters: string[]): Promise<CliResult> {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [main, ...parameters], {
    env: { PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { exitCode, stdout, stderr };
}

/** A command line on one database. */
export function cliOn(url: string, settings: Record<string, string> = {}) {
  const run = (...parameters: string[]) => runCli({ DATABASE_URL: url, ...settings }, ...parameters);
  return {
    run,
    /** The JSON value that a command prints; it must succeed and say nothing else. */
    async json<T>(...parameters: string[]): Promise<T> {
      const { exitCode, stdout, stderr } = await run(...parameters, '--json');
      expect({ exitCode, stderr }, parameters.join(' ')).toEqual({ exitCode: 0, stderr: '' });
      return JSON.parse(stdout);
    },
    /** The one line with which a command is refused: exit status 1, nothing on standard output. */
    async refusal(...parameters: string[]): Promise<string> {
      const { exitCode, stdout, stderr } = await run(...parameters);
      expect({ exitCode, stdout, lines: stderr.split('\n').length }, `${parameters.join(' ')}: ${stderr}`).toEqual({
        exitCode: 1,
        stdout: '',
        lines: 2,
      });
      return stderr.trimEnd();
    },
  };
}
