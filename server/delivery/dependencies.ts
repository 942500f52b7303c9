import type { Queryable } from '../database/database.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { UnsubscribeTokens } from '../domain/notifications/unsubscribe-token.ts';
import type { SecretBox } from '../domain/secret-box.ts';
import type { AddressTokens } from '../domain/users/change-address.ts';
import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';
import type { Mailer } from './mail/mailer.ts';

/** Locks that at most one process holds. They end with the process. */
export interface WorkerLocks {
  /** Takes a lock, or returns false. A process must not ask for a lock that it holds. */
  tryLock(key: string): Promise<boolean>;
  unlock(key: string): Promise<void>;
}

/** The dependencies of the tasks. */
export interface TaskDependencies extends Omit<ServerDependencies, 'appKey' | 'passwords'> {
  secretBox: SecretBox;
  requests: OutgoingRequests;
  unsubscribeTokens: UnsubscribeTokens;
  addressTokens: AddressTokens;
  /** Undefined: no mail is sent. */
  mailer: Mailer | undefined;
  /**
   * The worker's own connections, for the statements that most jobs run. A commit reaches the disk a moment later. A
   * crash of PostgreSQL may undo it together with the end of the job, so the job runs again.
   */
  queue: Queryable;
  locks: WorkerLocks;
  /** Aborted when the worker stops. A long task ends at the next good moment and leaves the rest to other processes. */
  stopping: AbortSignal;
}
