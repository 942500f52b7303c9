import { afterEach, expect, test, vi } from 'vitest';
import { endProcess } from '../../server/end-process.ts';

const { exitCode } = process;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  process.exitCode = exitCode;
});

test('a process that is told to end does so by itself, with the first status, and is made to only where it goes on', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  process.exitCode = undefined;
  endProcess(1);
  endProcess(0);
  expect(process.exitCode).toBe(1);
  // At once it might wait for ever for a thread that compiles and waits for the memory that this one would free.
  expect(exit).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(exit).toHaveBeenCalledWith();
});
