import { type DestinationStream, pino } from 'pino';

let output: ReturnType<typeof pino.destination> | undefined;

/**
 * Returns standard output with a buffer. Without the buffer, writing would take a tenth of the time of a small request.
 * The process writes the buffer when it is full, each second and at exit. So kill -9 loses at most the lines of the
 * last second. All logs share the buffer, so that their lines do not mix.
 */
export function standardOutput(): DestinationStream {
  output ??= pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 1000 });
  return output;
}
