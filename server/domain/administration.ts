import type { EntityManager } from '@mikro-orm/postgresql';
import type { QueryBuilding, Transaction } from '../database/database.ts';
import type { AdministrationEntryName, AuditActor, AuditEntries } from '../observability/audit-entries.ts';
import type { AuditLog } from '../observability/audit-log.ts';

/** What an administrative operation is given: no board and no token, but an operator or an account's admin. */
export interface Administration extends QueryBuilding {
  readonly em: EntityManager;
  readonly now: Date;
  /** Who acts, for the operations that not everybody may do in an account who may do others. */
  readonly by: AuditActor;
  readonly audit: AuditTrail;
}

/** Where administrative operations tell what they did. It is in the audit log when they are committed, and only then. */
export interface AuditTrail {
  record<Event extends AdministrationEntryName>(event: Event, fields: WithoutActor<AuditEntries[Event]>): void;
}

/** The fields of an event but for who did it, which an operation is not told. */
type WithoutActor<Fields> = Omit<Fields, keyof (AuditActor & { by: 'user' })>;

/** The user who acts; null where the operator of the server does, or the server by itself. */
export function actingUserOf({ by: actor }: Administration): number | null {
  return actor.by === 'user' ? actor.by_user_id : null;
}

/** What administrative operations in a transaction are given, where the process has an audit log. */
export function administrationIn(
  transaction: Transaction,
  { audit, actor, now }: { audit: AuditLog; actor: AuditActor; now: Date },
): Administration {
  return {
    get em() {
      return transaction.em;
    },
    get db() {
      return transaction.db;
    },
    query: transaction.query,
    now,
    by: actor,
    audit: {
      record: (event, fields) => transaction.afterCommit(() => audit.record(event, { ...actor, ...fields } as never)),
    },
  };
}

type AdministrationErrorReason =
  /** A value is not one that the field may have. */
  | 'invalid'
  /** What is named does not exist, or belongs to another account. */
  | 'not_found'
  /** The state of things does not allow it: a name is taken, something is in use. */
  | 'conflict'
  /** The person or the plan may not do this. */
  | 'forbidden';

/** An administrative operation that is refused. Nothing is written; the message is one line for the person who asked. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError';
  readonly reason: AdministrationErrorReason;

  constructor(reason: AdministrationErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * Runs a write, and where it violates one of the constraints named, refuses with the message of that constraint. Asking
 * before the write would leave a gap in which another could take the name.
 */
export async function explainViolations<T>(messages: Record<string, string>, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const { constraint } = error as { constraint?: unknown };
    const message = typeof constraint === 'string' ? messages[constraint] : undefined;
    if (message === undefined) throw error;
    throw new AdministrationError('conflict', message, { cause: error });
  }
}

/**
 * Notes what fields of an entity are, and answers later which of them are different, in the words of the API: for the
 * audit log, which names them and does not repeat what is in them.
 */
export function noteFields<Entity extends object>(entity: Entity, names: readonly (keyof Entity & string)[]) {
  const before = names.map(name => comparable(entity[name]));
  return (): string[] => names.filter((name, index) => comparable(entity[name]) !== before[index]).map(toSnakeCase);
}

function comparable(value: unknown): string {
  return JSON.stringify(value ?? null);
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
