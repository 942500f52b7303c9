import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { timestamp } from './columns.ts';

/** That an extension is told of the events of a type. */
export const ExtensionSubscription = defineEntity({
  name: 'ExtensionSubscription',
  tableName: 'extension_subscriptions',
  properties: {
    eventType: p.text().primary(),
    extension: p.text().primary(),
    renewedAt: timestamp(),
  },
});
export type ExtensionSubscription = InferEntity<typeof ExtensionSubscription>;
