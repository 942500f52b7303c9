import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { endProcess } from '../../server/end-process.ts';
import { runUntilSignal } from '../../server/run-until-signal.ts';

const { exitCode } = process;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  process.exitCode = exitCode;
});

test('endProcess() keeps the exit status of its first call, and forces the exit only if the process still runs after a delay', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  process.exitCode = undefined;
  endProcess(1);
  endProcess(0);
  expect(process.exitCode).toBe(1);
  // The process must not exit at once, because an immediate exit can deadlock. The exit waits for a compiler thread,
  // and this thread can wait until the main thread collects garbage.
  expect(exit).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(exit).toHaveBeenCalledWith();
});

test.each([
  ['never ends', () => new Promise(() => {})],
  ['fails', () => Promise.reject(new Error('It does not close'))],
])('a server that cannot start reports the cause even if its clean-up after the failed start %s', async (_, stop) => {
  const listened = ['SIGINT', 'SIGTERM', 'uncaughtException'];
  const before = new Map(listened.map(event => [event, process.listeners(event as 'SIGINT')]));
  const config = { SHUTDOWN_DELAY_MS: 600_000, SHUTDOWN_TIMEOUT_MS: 20 };
  const running = runUntilSignal(config, pino({ level: 'silent' }), async stops => {
    stops.push(stop);
    throw new Error('The port is taken');
  });
  await expect(running).rejects.toThrow('The port is taken');
  for (const event of listened) {
    for (const listener of process.listeners(event as 'SIGINT')) {
      if (!before.get(event)?.includes(listener)) process.off(event, listener);
    }
  }
});
