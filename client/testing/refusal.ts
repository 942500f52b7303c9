import {
  type DetailsOf,
  type ErrorBody,
  type ErrorKey,
  errors,
  messageWith,
  type ValidationIssue,
} from '@idea-board/contract';

/** The reason why the test server refuses a request. */
export class Refusal<K extends ErrorKey = ErrorKey> extends Error {
  readonly key: K;
  readonly details: DetailsOf<K> | undefined;
  readonly issues: ValidationIssue[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    key: K,
    more: {
      details?: DetailsOf<K> | undefined;
      issues?: ValidationIssue[];
      headers?: Record<string, string>;
      message?: string | undefined;
    } = {},
  ) {
    super(more.message ?? messageWith(key, more.details) ?? errors[key].meaning);
    this.key = key;
    this.details = more.details;
    this.issues = more.issues;
    this.headers = more.headers ?? {};
  }

  get status(): number {
    return errors[this.key].status;
  }

  get body(): ErrorBody<K> {
    const { key, message, issues, details } = this;
    return { error: { key, message, issues, details } };
  }
}
