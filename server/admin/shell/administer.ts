import type { FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, administrationIn } from '../../domain/administration.ts';
import { sessionOf } from './browser-session.ts';

/** Runs an administrative operation in a transaction, in the name of whoever is signed in. */
export function administer<T>(
  { database, audit, clock }: ServerDependencies,
  request: FastifyRequest,
  work: (admin: Administration) => Promise<T>,
): Promise<T> {
  const actor = { by: 'user', by_user_id: sessionOf(request).user.id } as const;
  return database.transaction(transaction => work(administrationIn(transaction, { audit, actor, now: clock.now() })));
}
