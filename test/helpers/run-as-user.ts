import type { WriteOperation } from '../../server/domain/operation.ts';
import type { World } from './fixtures.ts';
import type { TestServer } from './server.ts';

type Acting = Pick<TestServer, 'database' | 'dependencies'>;

/** Runs an operation as a signed-in user, not as a token. By default, the user is a moderator. */
export function runAsUser<T>(
  { database, dependencies }: Acting,
  { accountId, boardId }: Pick<World, 'accountId' | 'boardId'>,
  userId: number,
  work: (op: WriteOperation) => Promise<T>,
  isModerator = true,
): Promise<T> {
  return database.transaction(({ query }) =>
    work({
      actor: { accountId, boardId, userId, tokenId: null, voterId: 0, isModerator },
      now: dependencies.clock.now(),
      query,
    }),
  );
}
