import { type DestinationStream, pino } from 'pino';

let output: ReturnType<typeof pino.destination> | undefined;

/**
 * Standard output, some lines at a time: a write for each request cost a tenth of what a small one takes. What is left
 * is written each second and when the process ends; a kill -9 loses the lines of the last second. There is one of it for
 * all logs, so that no line is written into another one.
 */
export function standardOutput(): DestinationStream {
  output ??= pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 1000 });
  return output;
}
