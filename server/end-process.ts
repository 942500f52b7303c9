/** Many times the time to compile a function, even on a busy machine. */
const lingerMs = 300;

/**
 * Ends the process with a status. If called several times, the first status counts.
 *
 * process.exit() may hang: it joins V8's compiler threads, and one of them may wait for a garbage collection of the joining
 * thread (nodejs/node#54918). So the event loop gets time to end by itself, which joins no threads. process.exit() runs
 * only after all compilations have ended.
 */
export function endProcess(status: number): void {
  process.exitCode ??= status;
  setTimeout(() => process.exit(), lingerMs).unref();
}
