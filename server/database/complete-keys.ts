import { type EventSubscriber, wrap } from '@mikro-orm/core';

/**
 * Stores each new row under its whole key. MikroORM 7.2 takes the id from PostgreSQL for the whole key of a new row. So it
 * forgets all but one of the rows that one flush creates, and inserts that one again instead of removing it.
 */
export const completeKeys: EventSubscriber = {
  afterCreate({ entity, em, meta }) {
    if (!meta.compositePK) return;
    const identities = em.getUnitOfWork().getIdentityMap();
    identities.delete(entity);
    delete wrap(entity, true).__pk;
    identities.store(entity);
  },
};
