/**
 * The command line in a process that runs one command after the other, each as if the process were its own: with its
 * settings, parameters and output alone. Nearly all that a short command takes is the start of its process.
 */
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../server/cli/program.ts';

/** What runCli asks for. */
export interface Command {
  settings: Record<string, string>;
  parameters: string[];
}

/** What came of it. What it left open would have kept a process of its own from ending. */
export type Outcome = { exitCode: number; stdout: string; stderr: string } | { leftOpen: string[] };

const main = fileURLToPath(new URL('../../server/cli/main.ts', import.meta.url));

// Node would print a warning past the stream that stands in for standard error.
process.removeAllListeners('warning');
process.on('warning', warning => process.stderr.write(`${warning.stack}\n`));
process.on('message', async (command: Command) => process.send?.(await run(command)));
process.on('disconnect', () => process.exit());
/** What keeps this process alive by itself. */
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

/** Puts a stream in the place of the process's own, and answers how to read what was written to it. */
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

/** Waits as a process does for all that is open, such as connections, and answers what is open after seconds still. */
async function untilClosed(): Promise<string[]> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const open = process.getActiveResourcesInfo();
    if (open.length <= own) return [];
    if (performance.now() > deadline) return open;
    // A timer that counts as nothing open.
    await delay(1, undefined, { ref: false });
  }
}
