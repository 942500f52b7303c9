/**
 * What an extension is made of: the one file of the server that extensions import. Within a version of the server it
 * only grows. docs/extensions.md shows how it is used.
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

/** Thrown in a route, it is answered as the Agent API answers it: a status and `{ "error": { "key", "message" } }`. */
export { DomainError } from '../domain/domain-error.ts';
export type { ActingUser, ExtensionOperations, ExtensionQueries, JobOptions } from './operations.ts';

/** What an extension is given to work with, wherever its code runs. */
export interface ExtensionContext<Settings> extends ExtensionOperations {
  readonly settings: Settings;
  /** Its lines carry the extension's name. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Runs work in one transaction: it commits when work resolves, rolls back when it throws, and may be tried again. */
  transaction<T>(work: (transaction: ExtensionOperations) => Promise<T>): Promise<T>;
  /** Writes a line of the audit log: what happened, and details without secrets. Addresses are masked. */
  audit(what: string, details?: Record<string, unknown>): void;
}

/** The context of a job. */
export interface JobContext<Settings> extends ExtensionContext<Settings> {
  /** Aborted when the worker stops, and when the job has taken too long: it fails then, and is tried again. */
  readonly signal: AbortSignal;
}

/** An event as webhooks tell it, under the id that they send too. */
export type ExtensionEvent<Type extends EventType = EventType> = EventBody<Type> & { readonly id: string };

export interface ExtensionDefinition<Settings extends z.ZodObject = z.ZodObject> {
  /** Lower-case letters, digits and hyphens. It is in the paths, the settings and the stream of migrations. */
  readonly name: string;
  /** The directory of its migrations, such as new URL('migrations', import.meta.url). */
  readonly migrations?: URL | string;
  /** Its settings: NAME is read from EXT_<EXTENSION>_NAME, and the start is refused when one does not fit. */
  readonly settings?: Settings;
  /** Adds its routes, which are under /ext/<name>. Called once in each server, in 8 seconds. */
  register?(app: FastifyInstance, context: ExtensionContext<z.output<Settings>>): void | Promise<void>;
  /** What it does after an event, by the event's type: at least once for each, in a job. */
  readonly on?: {
    readonly [Type in EventType]?: (
      event: ExtensionEvent<Type>,
      context: JobContext<z.output<Settings>>,
    ) => Promise<unknown>;
  };
  /** Jobs of its own, by their names: what addJob() and the cron ask for. */
  readonly tasks?: {
    readonly [task: string]: (payload: unknown, context: JobContext<z.output<Settings>>) => Promise<unknown>;
  };
  /** When a task runs by itself, in UTC: five fields, such as '17 3 * * *', by the name of the task. */
  readonly cron?: { readonly [task: string]: string };
  /** Removes what it keeps of a user who is being erased, in the transaction that erases them. */
  eraseUser?(transaction: ExtensionQueries, userId: number): Promise<void>;
}

const defined = new WeakSet<object>();

/** Says what an extension is. What it returns is the default export of the extension's module. */
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

/** An extension as the server has it: loaded, and with its settings where they are needed. */
export interface Extension extends Pick<ExtensionDefinition, 'name' | 'register' | 'on' | 'tasks' | 'cron'> {
  /** Its own stream of migrations; undefined: it has no tables. */
  readonly migrations: MigrationStream | undefined;
  readonly settings?: Record<string, unknown>;
  /** Removes what it keeps of a user, in the transaction that erases them. */
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
