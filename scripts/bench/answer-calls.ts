import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The time between two samples of the event loop. A sample contains this time and the delay. */
const sampleMs = 10;
const loop = monitorEventLoopDelay({ resolution: sampleMs });
loop.enable();

/**
 * Runs in a child process, which the class `Child` starts. Answers each call of the parent process. Exits when the
 * parent process ends.
 */
export function answerCalls<Message>(answer: (message: Message) => Promise<unknown> | unknown) {
  process.on('message', async (message: Message) => {
    try {
      process.send?.({ value: await answer(message) });
    } catch (error) {
      process.send?.({ error: (error as Error).stack });
    }
  });
  process.on('disconnect', () => process.exit());
}

/** The memory that a process uses, the CPU time that it has used, and the delay of its event loop. */
export interface Usage {
  residentBytes: number;
  cpuMicroseconds: number;
  /** The 99th percentile since the last call of `readUsage`. */
  loopDelayP99Ms: number;
}

export function readUsage(): Usage {
  const { user, system } = process.cpuUsage();
  const loopDelayP99Ms = Math.max(0, loop.percentile(99) / 1e6 - sampleMs);
  loop.reset();
  return { residentBytes: process.memoryUsage.rss(), cpuMicroseconds: user + system, loopDelayP99Ms };
}
