import type { EntityManager } from '@mikro-orm/postgresql';
import type { ErrorKey } from '../../contract/errors.ts';
import type { QueryBuilding, Transaction } from '../database/database.ts';
import type { AdministrationEntryName, AuditActor, AuditEntries } from '../observability/audit-entries.ts';
import type { AuditLog } from '../observability/audit-log.ts';

/** The context of an administrative operation, including its transaction, its time and its actor. */
export interface Administration extends QueryBuilding {
  readonly em: EntityManager;
  readonly now: Date;
  /** The user, the operator or the server that runs the operation. Some operations check the role of the user. */
  readonly by: AuditActor;
  readonly audit: AuditTrail;
}

/** The context of an administrative operation that only reads. Such an operation needs no transaction. */
export type Reading = Pick<Administration, 'db' | 'now'>;

/** Records audit entries. The audit log gets these entries only after the transaction has committed. */
export interface AuditTrail {
  record<Event extends AdministrationEntryName>(event: Event, fields: WithoutActor<AuditEntries[Event]>): void;
}

/** The fields of an audit entry without the actor, because AuditTrail adds the actor. */
type WithoutActor<Fields> = Omit<Fields, keyof (AuditActor & { by: 'token' })>;

/**
 * Returns the id of the user who acts, because the user's role in the account limits the operation. Returns null for an
 * operator and for the server itself, because they need no role.
 */
export function actingUserOf({ by: actor }: Administration): number | null {
  return actor.by === 'user' || actor.by === 'token' ? actor.by_user_id : null;
}

/** Returns the id of the person who acts. Returns null for the operator's command line and for the server itself. */
export function actingPersonOf({ by: actor }: Administration): number | null {
  return 'by_user_id' in actor ? actor.by_user_id : null;
}

/** Builds the context of the administrative operations in one transaction. */
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
  | 'invalid'
  /** The object does not exist, or it belongs to another account. */
  | 'not_found'
  /** The current state prevents the operation. For example, another object has the same name. */
  | 'conflict'
  /** The person's role or the account's plan does not allow the operation. */
  | 'forbidden';

interface ErrorFacts extends ErrorOptions {
  /** The error key of the Agent API for this error. */
  key?: ErrorKey;
  /** The invalid field of the input. */
  field?: string;
}

/**
 * Rejects an operation and rolls back its transaction. The person who started the operation sees the error's message.
 */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError';
  readonly reason: AdministrationErrorReason;
  readonly key: ErrorKey | undefined;
  readonly field: string | undefined;

  constructor(reason: AdministrationErrorReason, message: string, { key, field, ...options }: ErrorFacts = {}) {
    super(message, options);
    this.reason = reason;
    this.key = key;
    this.field = field;
  }
}

/** Returns the error for an invalid input. The message is for the person who entered the input. */
export function invalid(message: string) {
  return new AdministrationError('invalid', message);
}

/**
 * Runs a write. If the write violates one of the given database constraints, throws an AdministrationError with the
 * message for that constraint. A check before the write would not be enough, because another transaction could take the
 * same name between the check and the write.
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
 * Remembers the values of some fields of an entity. The returned function lists the fields that have changed since
 * then, in snake case. The audit log contains only the names of changed fields, and no values.
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
