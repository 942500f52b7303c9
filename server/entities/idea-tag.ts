import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { bigint } from './columns.ts';

export const IdeaTag = defineEntity({
  name: 'IdeaTag',
  tableName: 'idea_tags',
  properties: {
    accountId: bigint().primary(),
    ideaId: bigint().primary(),
    tagId: bigint().primary(),
  },
});
export type IdeaTag = InferEntity<typeof IdeaTag>;
