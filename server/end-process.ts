/** How long the event loop may take to end by itself. Compiling a function takes much less, even on a busy machine. */
const lingerMs = 300;

/**
 * Ends the process with an exit status. If this function is called several times, the first status counts.
 * process.exit() may hang: it waits for V8's compiler threads, and they may wait for the main thread to collect garbage
 * (nodejs/node#54918). So the event loop first gets time to end by itself, which does not wait for threads.
 * process.exit() runs after this time, when the compilations have ended.
 */
export function endProcess(status: number): void {
  process.exitCode ??= status;
  setTimeout(() => process.exit(), lingerMs).unref();
}
