import { type ErrorKey, type ErrorMeanings, meaningOf, type ValidationIssue } from '../../contract/errors.ts';

/** Rejects an API request. The key is one of the error keys in the API contract. */
export class DomainError<K extends ErrorKey = ErrorKey> extends Error {
  readonly key: K;
  readonly issues: ValidationIssue[] | undefined;

  constructor(key: K, issues?: ValidationIssue[], meanings?: ErrorMeanings) {
    super(meaningOf(key, meanings));
    this.name = 'DomainError';
    this.key = key;
    this.issues = issues;
  }
}
