/** Where failures that nobody expected are told, beside the log (Limits, operational rule 4). */
export interface ErrorReporter {
  report(error: unknown): void;
  /** Sends what is still to be sent. */
  close(): Promise<void>;
}

/** Tells nobody: the default. */
export const silentReporter: ErrorReporter = {
  report() {},
  async close() {},
};
