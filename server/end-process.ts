/**
 * How long the event loop may take to end by itself. Compiling a function takes much less time, even on a busy machine.
 */
const lingerMs = 300;

/**
 * Ends the process with an exit status. If this function is called several times, the first status counts.
 *
 * process.exit() may hang: it waits for V8's compiler threads, and these threads may wait for the main thread to
 * collect garbage (nodejs/node#54918). So the function first gives the event loop time to end by itself, because that
 * end does not wait for threads. After this time, the compilations have ended, and process.exit() runs.
 */
export function endProcess(status: number): void {
  process.exitCode ??= status;
  setTimeout(() => process.exit(), lingerMs).unref();
}
