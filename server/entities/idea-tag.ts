import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { bigint } from './columns.ts';

export const IdeaTag = defineEntity({
  name: 'IdeaTag',
  tableName: 'idea_tags',
  properties: {
    ideaId: bigint().primary(),
    tagId: bigint().primary(),
    accountId: bigint(),
  },
});
export type IdeaTag = InferEntity<typeof IdeaTag>;
