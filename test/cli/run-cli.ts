import { type ChildProcess, fork, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { compileCache } from '../helpers/compile-cache.ts';
import { programFor } from '../helpers/programs.ts';
import type { Command, Outcome } from '../helpers/resident-cli.ts';

export const main = programFor('server/cli/main.ts');
/** This program runs from its source and not from a bundle, because commands of several tests load extensions. */
const residentMain = new URL('../helpers/resident-cli.ts', import.meta.url);

export interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

let resident: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a CLI command with only these settings. All commands share one process and run one after another, because
 * separate processes would take five times as long. The file process.test.ts tests that commands have the same output
 * in a separate process. The shared process keeps loaded modules, such as extensions. A test that needs freshly loaded
 * modules uses runCliProcess.
 */
export function runCli(settings: Record<string, string>, ...parameters: string[]): Promise<CliResult> {
  const result = last.then(() => runResident({ settings: withBasics(settings), parameters }));
  last = result.catch(() => {});
  return result;
}

/** Runs a CLI command in its own process, as an operator does. */
export async function runCliProcess(settings: Record<string, string>, ...parameters: string[]): Promise<CliResult> {
  const child = spawn(process.execPath, [programFor('server/cli/main.ts', settings), ...parameters], {
    env: withBasics(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { exitCode, stdout, stderr };
}

/** A line of progress, which an import writes every ten seconds. On a busy machine, imports of tests take that long. */
const progressLine = /^(?:\d+ %, )?[\d,]+ records\n/gm;

/** Returns functions that run commands on one database. */
export function cliOn(url: string, settings: Record<string, string> = {}, runOne = runCli) {
  const run = (...parameters: string[]) => runOne({ DATABASE_URL: url, ...settings }, ...parameters);
  return {
    run,
    /** Returns the JSON value that a command prints. Expects exit status 0, and no error output except progress. */
    async json<T>(...parameters: string[]): Promise<T> {
      const { exitCode, stdout, stderr } = await run(...parameters, '--json');
      const errors = stderr.replace(progressLine, '');
      expect({ exitCode, errors }, parameters.join(' ')).toEqual({ exitCode: 0, errors: '' });
      return JSON.parse(stdout);
    },
    /** Returns the error line of a command. Expects exit status 1 and no standard output. */
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

async function runResident(command: Command): Promise<CliResult> {
  const child = residentCli();
  const outcome = await new Promise<Outcome>((resolve, reject) => {
    const onExit = () => reject(new Error(`${command.parameters.join(' ')} ended its process`));
    child.once('exit', onExit);
    child.once('message', message => {
      child.off('exit', onExit);
      resolve(message as Outcome);
    });
    child.send(command);
  });
  if ('leftOpen' in outcome) throw new Error(`${command.parameters.join(' ')} left open: ${outcome.leftOpen}`);
  return outcome;
}

/**
 * Returns the shared process that runs CLI commands. The shared process ends when the test process ends, but the test
 * process does not wait for the shared process.
 */
function residentCli(): ChildProcess {
  if (resident?.connected) return resident;
  resident = fork(residentMain, {
    execArgv: [],
    env: withBasics({}),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  resident.unref();
  resident.channel?.unref();
  return resident;
}

/** Adds the variables that let a process find programs and start quickly. */
function withBasics(settings: Record<string, string>): Record<string, string> {
  const { PATH = '' } = process.env;
  return { PATH, NODE_COMPILE_CACHE: compileCache, ...settings };
}
