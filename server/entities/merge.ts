import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';

/** The history of merges; the ones in force have no unmergedAt. */
export const Merge = defineEntity({
  name: 'Merge',
  tableName: 'merges',
  properties: {
    ...accountKey,
    sourceId: bigint(),
    targetId: bigint(),
    mergedAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    unmergedAt: timestamp().nullable(),
  },
});
export type Merge = InferEntity<typeof Merge>;
