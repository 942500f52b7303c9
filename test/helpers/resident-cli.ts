/**
 * Runs CLI commands of the server one after the other in one process, because starting a process takes longer than a
 * short command. Each command has its own settings, parameters and output.
 */
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../server/cli/program.ts';

/** A CLI command. runCli() sends it to this process. */
export interface Command {
  settings: Record<string, string>;
  parameters: string[];
}

/**
 * The result of a command. If the command did not close all of its resources, the result lists the open resources in
 * `leftOpen`.
 */
export type Outcome = { exitCode: number; stdout: string; stderr: string } | { leftOpen: string[] };

const main = fileURLToPath(new URL('../../server/cli/main.ts', import.meta.url));

// Prints Node's warnings to the real standard error. While a command runs, `capture` replaces the standard error of the
// process.
process.removeAllListeners('warning');
process.on('warning', warning => process.stderr.write(`${warning.stack}\n`));
process.on('message', async (command: Command) => process.send?.(await run(command)));
process.on('disconnect', () => process.exit());
/** The number of resources that this process keeps open while no command runs. */
const own = process.getActiveResourcesInfo().length;

async function run({ settings, parameters }: Command): Promise<Outcome> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, settings);
  process.argv = [process.execPath, main, ...parameters];
  process.exitCode = undefined;
  const stdout = capture('stdout');
  const stderr = capture('stderr');
  await runProgram();
  const leftOpen = await untilClosed();
  if (leftOpen.length > 0) return { leftOpen };
  return { exitCode: Number(process.exitCode ?? 0), stdout: stdout(), stderr: stderr() };
}

/** Replaces a standard stream of the process. Returns a function that returns the output captured so far. */
function capture(name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  Object.defineProperty(process, name, { value: stream, configurable: true });
  return () => Buffer.concat(chunks).toString();
}

/** Waits until the command's resources are closed. After ten seconds, returns the resources that are still open. */
async function untilClosed(): Promise<string[]> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const open = process.getActiveResourcesInfo();
    if (open.length <= own) return [];
    if (performance.now() > deadline) return open;
    // Because of `ref: false`, this timer does not count as an open resource.
    await delay(1, undefined, { ref: false });
  }
}
