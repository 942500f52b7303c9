/** Many times what compiling a function takes, also on a busy machine. */
const lingerMs = 300;

/**
 * Ends the process with a status, as soon as nothing keeps it running. process.exit() may never return: it joins the
 * threads on which V8 compiles, and one of them may be waiting for a garbage collection, which is up to the thread that
 * joins it (nodejs/node#54918). An event loop that ends by itself waits for nobody. Where something keeps it going,
 * process.exit() comes when what was being compiled has long been done.
 *
 * The first status counts.
 */
export function endProcess(status: number): void {
  process.exitCode ??= status;
  setTimeout(() => process.exit(), lingerMs).unref();
}
