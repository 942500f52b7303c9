import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

/** The history of merges; the ones in force have no unmergedAt. */
export const Merge = defineEntity({
  name: 'Merge',
  tableName: 'merges',
  properties: {
    id: bigint().primary().autoincrement(),
    accountId: bigint(),
    sourceId: bigint(),
    targetId: bigint(),
    mergedAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    unmergedAt: timestamp().nullable(),
  },
});
export type Merge = InferEntity<typeof Merge>;
