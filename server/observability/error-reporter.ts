/** What a failure happened in, beside itself: short plain values, none of them what a client sent. */
type FailureContext = Readonly<Record<string, string | number>>;

/** Where failures that nobody expected are told, beside the log (Limits, operational rule 4). */
export interface ErrorReporter {
  report(error: unknown, context?: FailureContext): void;
  /** Sends what is still to be sent, for a few seconds at most. */
  close(): Promise<void>;
}

/** Tells nobody: the default. */
export const silentReporter: ErrorReporter = {
  report() {},
  async close() {},
};
