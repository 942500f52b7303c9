import { type DestinationStream, pino } from 'pino';

let output: ReturnType<typeof pino.destination> | undefined;

/**
 * Returns a buffered standard output. A write for each request would cost a tenth of a small request's time. The buffer is
 * flushed each second and at exit, so a kill -9 loses the lines of the last second. All logs share it, so that their
 * lines do not mix.
 */
export function standardOutput(): DestinationStream {
  output ??= pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 1000 });
  return output;
}
