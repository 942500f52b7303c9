import type { EntityManager } from '@mikro-orm/postgresql';
import type { Queryable } from '../database/database.ts';

/** What an administrative operation is given: no board and no token, but an operator or an account's admin. */
export interface Administration extends Queryable {
  readonly em: EntityManager;
  readonly now: Date;
}

export type AdministrationErrorReason =
  /** A value is not one that the field may have. */
  | 'invalid'
  /** What is named does not exist, or belongs to another account. */
  | 'not_found'
  /** The state of things does not allow it: a name is taken, something is in use. */
  | 'conflict'
  /** The person or the plan may not do this. */
  | 'forbidden';

/** An administrative operation that is refused. Nothing is written; the message is one line for the person who asked. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError';
  readonly reason: AdministrationErrorReason;

  constructor(reason: AdministrationErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
