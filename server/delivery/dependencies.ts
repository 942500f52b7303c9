import type { Queryable } from '../database/database.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { UnsubscribeTokens } from '../domain/notifications/unsubscribe-token.ts';
import type { SecretBox } from '../domain/secret-box.ts';
import type { AddressTokens } from '../domain/users/change-address.ts';
import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';
import type { Mailer } from './mail/mailer.ts';

/** Locks of one process. They end with the process. */
export interface WorkerLocks {
  /** Takes a lock, or returns false. A process must not ask for a lock that it holds. */
  tryLock(key: string): Promise<boolean>;
  unlock(key: string): Promise<void>;
}

export interface TaskDependencies extends Omit<ServerDependencies, 'appKey' | 'passwords'> {
  secretBox: SecretBox;
  requests: OutgoingRequests;
  unsubscribeTokens: UnsubscribeTokens;
  addressTokens: AddressTokens;
  /** Undefined if SMTP_URL is not set. Then the server sends no mail. */
  mailer: Mailer | undefined;
  /**
   * The worker's own connections, for the statements that most jobs run. Their commits are asynchronous: a crash of
   * PostgreSQL may undo a commit together with the end of its job. Then the job runs again.
   */
  queue: Queryable;
  locks: WorkerLocks;
  /** Aborted when the worker stops. Then a long task ends early and leaves the rest to other processes. */
  stopping: AbortSignal;
}
