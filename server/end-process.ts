/**
 * How long the event loop may take to end by itself. Even on a busy machine, compiling a function takes much less time.
 */
const lingerMs = 300;

/**
 * Ends the process with an exit status. If this function is called several times, the first status counts.
 * process.exit() may hang. It waits for V8's compiler threads, and such a thread may wait until the waiting thread
 * collects garbage (nodejs/node#54918). So the event loop first gets time to end by itself, which does not wait for
 * threads. process.exit() runs only after all compilations have ended.
 */
export function endProcess(status: number): void {
  process.exitCode ??= status;
  setTimeout(() => process.exit(), lingerMs).unref();
}
