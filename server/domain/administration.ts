import type { EntityManager } from '@mikro-orm/postgresql';
import type { Queryable } from '../database/database.ts';

/** What an administrative operation is given: no board and no token, but an operator or an account's admin. */
export interface Administration extends Queryable {
  readonly em: EntityManager;
  readonly now: Date;
}
