import type { Queryable } from '../database/database.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { UnsubscribeTokens } from '../domain/notifications/unsubscribe-token.ts';
import type { SecretBox } from '../domain/secret-box.ts';
import type { AddressTokens } from '../domain/users/change-address.ts';
import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';
import type { Mailer } from './mail/mailer.ts';

/** The locks that one worker process holds. They are released when the process ends. */
export interface WorkerLocks {
  /** Takes a lock. Returns false if another process or another job of this process holds it. */
  tryLock(key: string): Promise<boolean>;
  unlock(key: string): Promise<void>;
}

export interface TaskDependencies extends Omit<ServerDependencies, 'appKey' | 'passwords'> {
  secretBox: SecretBox;
  requests: OutgoingRequests;
  unsubscribeTokens: UnsubscribeTokens;
  addressTokens: AddressTokens;
  /** Sends mail. Undefined if SMTP_URL is not set: then the server sends no mail. */
  mailer: Mailer | undefined;
  /**
   * The worker's own database connections, which commit asynchronously. A crash of PostgreSQL may undo a job's last
   * commit and the record that the job has ended. The job then runs again.
   */
  queue: Queryable;
  locks: WorkerLocks;
  /** When this signal is aborted, a long task ends early and leaves the rest of its work to later jobs. */
  stopping: AbortSignal;
}
