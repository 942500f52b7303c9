import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Grant } from '../../contract/grants.ts';
import { bigint } from './columns.ts';

export const ApiTokenBoard = defineEntity({
  name: 'ApiTokenBoard',
  tableName: 'api_token_boards',
  properties: {
    accountId: bigint().primary(),
    tokenId: bigint().primary(),
    boardId: bigint().primary(),
    level: p.text().$type<Grant>(),
  },
});
export type ApiTokenBoard = InferEntity<typeof ApiTokenBoard>;
