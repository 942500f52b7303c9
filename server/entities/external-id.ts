import { p } from '@mikro-orm/core';
import { bigint, defineTable } from './columns.ts';

/** The kinds of rows that have external ids. */
export type ExternalKind = 'person' | 'board' | 'status' | 'tag' | 'idea' | 'comment' | 'note' | 'voter' | 'merge';

/** The id that a row had in the file of an import. */
export const ExternalId = defineTable('ExternalId', 'external_ids', {
  accountId: bigint().primary(),
  kind: p.text().$type<ExternalKind>().primary(),
  /** The id in the file, such as `fider:42`. */
  externalId: p.text().primary(),
  /**
   * The id of the row. The row may no longer exist: a repeated import must not bring a deleted row back. Only removed
   * statuses and tags come back, because new ideas of the file may have them. Null for a person.
   */
  rowId: bigint().nullable(),
  /** The user. Null for all kinds except person. */
  userId: bigint().nullable(),
});
