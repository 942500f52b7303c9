import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

/** What a user proves to be themself with. */
export const SignInMethod = defineEntity({
  name: 'SignInMethod',
  tableName: 'sign_in_methods',
  properties: {
    userId: bigint().primary(),
    kind: p.text().$type<'password'>().primary(),
    /** Of a password the PHC string of argon2id. */
    credential: p.text(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    updatedAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type SignInMethod = InferEntity<typeof SignInMethod>;
