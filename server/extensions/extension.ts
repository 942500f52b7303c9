/**
 * The only file of the server that extensions import. Within a major version of the server it only gains features.
 * docs/extensions.md is the guide.
 */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { EventBody, EventType } from '../../contract/events.ts';
import type { Queryable } from '../database/database.ts';
import type { MigrationStream } from '../database/migration-files.ts';
import type { Clock } from '../domain/time.ts';
import { checkDefinition } from './check-definition.ts';
import type { ExtensionOperations, ExtensionQueries } from './operations.ts';

/** In a route it becomes an error of the Agent API: a status and `{ "error": { "key", "message" } }`. */
export { DomainError } from '../domain/domain-error.ts';
export type { ActingUser, ExtensionOperations, ExtensionQueries, JobOptions } from './operations.ts';

/** The interface of the server for an extension's code. */
export interface ExtensionContext<Settings> extends ExtensionOperations {
  readonly settings: Settings;
  /** Adds the extension's name to each line. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Runs work in a transaction, which commits if work resolves and rolls back if it rejects. May run work again. */
  transaction<T>(work: (transaction: ExtensionOperations) => Promise<T>): Promise<T>;
  /** Writes an audit entry. The details must have no secrets. The log masks addresses. */
  audit(what: string, details?: Record<string, unknown>): void;
}

/** The context of a job. */
export interface JobContext<Settings> extends ExtensionContext<Settings> {
  /** Aborted when the worker stops or the job times out. The job fails then, and is retried. */
  readonly signal: AbortSignal;
}

/** An event as in a webhook, with the same id. */
export type ExtensionEvent<Type extends EventType = EventType> = EventBody<Type> & { readonly id: string };

export interface ExtensionDefinition<Settings extends z.ZodObject = z.ZodObject> {
  /** Lower-case letters, digits and hyphens. Names the extension's paths, settings and migrations. */
  readonly name: string;
  /** The directory of the migrations, such as new URL('migrations', import.meta.url). */
  readonly migrations?: URL | string;
  /** The settings. NAME is read from EXT_<EXTENSION>_NAME. An invalid setting prevents the start of the server. */
  readonly settings?: Settings;
  /** Adds routes under /ext/<name>. The server calls it once, and waits at most 8 seconds. */
  register?(app: FastifyInstance, context: ExtensionContext<z.output<Settings>>): void | Promise<void>;
  /** Handlers by type of event. A job calls the handler at least once for each event. */
  readonly on?: {
    readonly [Type in EventType]?: (
      event: ExtensionEvent<Type>,
      context: JobContext<z.output<Settings>>,
    ) => Promise<unknown>;
  };
  /** Tasks by name, for addJob() and `cron`. */
  readonly tasks?: {
    readonly [task: string]: (payload: unknown, context: JobContext<z.output<Settings>>) => Promise<unknown>;
  };
  /** The times of periodic tasks, in UTC: five fields of a crontab, such as '17 3 * * *', by the name of the task. */
  readonly cron?: { readonly [task: string]: string };
  /** Removes the extension's data about a user, in the transaction that erases the user. */
  eraseUser?(transaction: ExtensionQueries, userId: number): Promise<void>;
}

const defined = new WeakSet<object>();

/** Defines an extension. Its result must be the default export of the extension's module. */
export function defineExtension<Settings extends z.ZodObject>(
  definition: ExtensionDefinition<Settings>,
): ExtensionDefinition {
  checkDefinition(definition);
  defined.add(definition);
  return definition as unknown as ExtensionDefinition;
}

export function isExtension(value: unknown): value is ExtensionDefinition {
  return typeof value === 'object' && value !== null && defined.has(value);
}

/** A loaded extension. It has settings only where they are needed. */
export interface Extension extends Pick<ExtensionDefinition, 'name' | 'register' | 'on' | 'tasks' | 'cron'> {
  /** Undefined if it has no tables. */
  readonly migrations: MigrationStream | undefined;
  readonly settings?: Record<string, unknown>;
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
