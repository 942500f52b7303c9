import {
  type DetailsOf,
  type ErrorKey,
  type ErrorMeanings,
  meaningOf,
  messageWith,
  type ValidationIssue,
} from '../../contract/errors.ts';

interface ErrorFacts<K extends ErrorKey> {
  /** The reasons why the request does not match its schema. */
  issues?: ValidationIssue[] | undefined;
  details?: DetailsOf<K> | undefined;
  /** The error messages that replace the usual messages of some error keys on the request's route. */
  meanings?: ErrorMeanings | undefined;
}

/** Rejects a request or an operation. The key is one of the error keys in the API contract. */
export class DomainError<K extends ErrorKey = ErrorKey> extends Error {
  readonly key: K;
  readonly issues: ValidationIssue[] | undefined;
  readonly details: DetailsOf<K> | undefined;

  constructor(key: K, { issues, details, meanings }: ErrorFacts<K> = {}) {
    super(messageWith(key, details) ?? meaningOf(key, meanings));
    this.name = 'DomainError';
    this.key = key;
    this.issues = issues;
    this.details = details;
  }
}
