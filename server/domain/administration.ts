import type { EntityManager } from '@mikro-orm/postgresql';
import type { QueryBuilding, Transaction } from '../database/database.ts';
import type { AdministrationEntryName, AuditActor, AuditEntries } from '../observability/audit-entries.ts';
import type { AuditLog } from '../observability/audit-log.ts';

/** The context of an administrative operation: the database, the time and the person who acts. */
export interface Administration extends QueryBuilding {
  readonly em: EntityManager;
  readonly now: Date;
  /** The actor, for operations that not every admin of the account may do. */
  readonly by: AuditActor;
  readonly audit: AuditTrail;
}

/** Records audit entries. They are written to the audit log only when the transaction commits. */
export interface AuditTrail {
  record<Event extends AdministrationEntryName>(event: Event, fields: WithoutActor<AuditEntries[Event]>): void;
}

/** The fields of an event, without the actor: the context adds it. */
type WithoutActor<Fields> = Omit<Fields, keyof (AuditActor & { by: 'user' })>;

/** The id of the acting user; null for the operator and for the server itself. */
export function actingUserOf({ by: actor }: Administration): number | null {
  return actor.by === 'user' ? actor.by_user_id : null;
}

/** Builds the context of administrative operations in a transaction, with the audit log of the process. */
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
  /** A value is invalid. */
  | 'invalid'
  /** The object does not exist, or it belongs to another account. */
  | 'not_found'
  /** The current state prevents it: for example, a name is taken. */
  | 'conflict'
  /** The role of the person or the plan of the account does not allow it. */
  | 'forbidden';

/** Rejects an administrative operation. The transaction rolls back. The message is one line for the person who acted. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError';
  readonly reason: AdministrationErrorReason;

  constructor(reason: AdministrationErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * Runs a write and turns the violation of a constraint into an AdministrationError with the given message. A check before
 * the write would have a race: another transaction could take the name in between.
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
 * Remembers the values of fields of an entity. The returned function lists the fields that changed since then, in snake
 * case. The audit log names changed fields without their values.
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
