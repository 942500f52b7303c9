/**
 * The only file of the server that extensions may import. Within a major version of the server, this file keeps all its
 * features. docs/extensions.md is the guide for authors of extensions.
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

/**
 * An error that a route can throw. The server sends the error's HTTP status and the body `{ "error": { "key", "message"
 * } }`, as the Agent API does.
 */
export { DomainError } from '../domain/domain-error.ts';
export type { ActingUser, ExtensionOperations, ExtensionQueries, JobOptions } from './operations.ts';

/** The functions of the server that the code of an extension can call. */
export interface ExtensionContext<Settings> extends ExtensionOperations {
  readonly settings: Settings;
  /** The logger. It adds the name of the extension to each line. */
  readonly logger: Logger;
  readonly clock: Clock;
  /**
   * Runs `work` in a transaction. If `work` resolves, the transaction commits. If `work` rejects, the transaction rolls
   * back. The server may run `work` several times, for example after a deadlock.
   */
  transaction<T>(work: (transaction: ExtensionOperations) => Promise<T>): Promise<T>;
  /** Writes an audit entry. The details must not contain secrets. The log masks e-mail addresses in the details. */
  audit(what: string, details?: Record<string, unknown>): void;
}

/** The functions of the server that a job of an extension can call. */
export interface JobContext<Settings> extends ExtensionContext<Settings> {
  /** The worker aborts this signal when it stops or when the job times out. The job then fails and is retried. */
  readonly signal: AbortSignal;
}

/** An event with the same id and the same content as in a webhook. */
export type ExtensionEvent<Type extends EventType = EventType> = EventBody<Type> & { readonly id: string };

export interface ExtensionDefinition<Settings extends z.ZodObject = z.ZodObject> {
  /**
   * The name of the extension: lower-case letters, digits and hyphens. It is part of the extension's paths, settings
   * and migrations.
   */
  readonly name: string;
  /** The directory of the extension's migrations, such as new URL('migrations', import.meta.url). */
  readonly migrations?: URL | string;
  /**
   * The schema of the extension's settings. The setting NAME comes from the variable EXT_<EXTENSION>_NAME. If a setting
   * is invalid, the server does not start.
   */
  readonly settings?: Settings;
  /** Adds routes under /ext/<name>. The server calls this function once, and waits for it at most 8 seconds. */
  register?(app: FastifyInstance, context: ExtensionContext<z.output<Settings>>): void | Promise<void>;
  /**
   * The event handlers, by type of event. A job calls the handler, and calls the handler again after an error or a
   * crash.
   */
  readonly on?: {
    readonly [Type in EventType]?: (
      event: ExtensionEvent<Type>,
      context: JobContext<z.output<Settings>>,
    ) => Promise<unknown>;
  };
  /** The tasks by name. addJob() and `cron` refer to these names. */
  readonly tasks?: {
    readonly [task: string]: (payload: unknown, context: JobContext<z.output<Settings>>) => Promise<unknown>;
  };
  /**
   * The times of periodic tasks, by the name of the task. A time is the five fields of a crontab in UTC, such as
   * `17 3 * * *`.
   */
  readonly cron?: { readonly [task: string]: string };
  /**
   * Deletes the extension's data about a user. It runs in the first transaction of the erasure, when `users.email` still
   * has the e-mail address, and again in the last transaction, before the user's row is deleted.
   */
  eraseUser?(transaction: ExtensionQueries, userId: number): Promise<void>;
}

const defined = new WeakSet<object>();

/** Defines an extension. The result must be the default export of the extension's module. */
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

/** A loaded extension. In commands that do not need the settings of extensions, `settings` is missing. */
export interface Extension extends Pick<ExtensionDefinition, 'name' | 'register' | 'on' | 'tasks' | 'cron'> {
  /** The migrations. Undefined if the extension has no tables. */
  readonly migrations: MigrationStream | undefined;
  readonly settings?: Record<string, unknown>;
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
