/** The context of a failure: short values that do not come from clients. */
type FailureContext = Readonly<Record<string, string | number>>;

/** Reports unexpected failures to a monitoring service, besides the log (specification: Limits, operational rule 4). */
export interface ErrorReporter {
  report(error: unknown, context?: FailureContext): void;
  /** Sends pending reports, for a few seconds at most. */
  close(): Promise<void>;
}

/** The default reporter, which reports nothing. */
export const silentReporter: ErrorReporter = {
  report() {},
  async close() {},
};
