export type EmbeddedPostgresErrorCode =
  /** No PostgreSQL is packaged for this platform, or optional dependencies were left out. */
  | 'unavailable'
  /** Another live process owns the cluster. */
  | 'in_use'
  /** The data directory, initdb or PostgreSQL itself failed. */
  | 'failed';

/** Why there is no embedded PostgreSQL, in one line fit to be printed before the process exits. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
  readonly code: EmbeddedPostgresErrorCode;

  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message.replace(/\s+/g, ' ').trim(), options);
    this.code = code;
  }
}
