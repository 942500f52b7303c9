import { type ErrorKey, type ErrorMeanings, meaningOf, type ValidationIssue } from '../../contract/errors.ts';

/** Rejects a request with one of the error keys in the contract. */
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
