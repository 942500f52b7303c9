import type { Task, TaskList } from 'graphile-worker';
import { z } from 'zod';
import type { Queryable } from '../database/database.ts';
import { inTime } from '../database/in-time.ts';
import { type Arguments, query } from '../database/query.ts';
import { findAccountOfEvent } from '../domain/events/find-account-of-event.ts';
import { presentEvent } from '../domain/events/present-event.ts';
import { recordedEventOf } from '../domain/events/recorded-event.ts';
import { buildContext, type ContextDependencies } from './context.ts';
import type { Extension, ExtensionEvent, JobContext } from './extension.ts';
import {
  clearLeftSubscriptions,
  eventIdentifier,
  renewalIdentifier,
  renewSubscriptions,
  taskIdentifier,
} from './subscriptions.ts';

export interface ExtensionTaskDependencies extends ContextDependencies {
  extensions: readonly Extension[];
  /** Aborted when the worker stops. */
  stopping: AbortSignal;
}

/** What hangs would keep its place among the worker's jobs for ever. */
const jobTimeoutMs = 300_000;

type Handler = (payload: unknown, context: JobContext<Record<string, unknown>>) => Promise<unknown>;

/** The jobs of all extensions, and the one that clears up after those that are gone. */
export function buildExtensionTasks(deps: ExtensionTaskDependencies, timeoutMs = jobTimeoutMs): TaskList {
  const { database, stopping } = deps;
  const tasks: TaskList = { clear_left_extensions: () => clearLeftSubscriptions(database, stopping) };
  for (const extension of deps.extensions) {
    const { name } = extension;
    const context = buildContext(deps, extension);
    const run = (identifier: string, handle: Handler): Task => {
      return async payload => {
        const signal = AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]);
        await inTime(handle(payload, { ...context, signal }), timeoutMs, identifier);
      };
    };
    for (const [task, handle] of Object.entries(extension.tasks ?? {})) {
      tasks[taskIdentifier(name, task)] = run(taskIdentifier(name, task), handle);
    }
    tasks[eventIdentifier(name)] = run(eventIdentifier(name), tellExtension(extension, database));
    tasks[renewalIdentifier(name)] = () => renewSubscriptions(database, [extension]);
  }
  return tasks;
}

/** When the tasks of extensions run. One that fails is tried again until its next time, and never runs twice at once. */
export function extensionCrontab(extensions: readonly Extension[]): string {
  const lines = ['23 * * * * clear_left_extensions ?max=1'];
  for (const { name, on = {}, cron = {} } of extensions) {
    if (Object.keys(on).length > 0) lines.push(`41 * * * * ${renewalIdentifier(name)} ?max=1`);
    for (const [task, times] of Object.entries(cron)) {
      const identifier = taskIdentifier(name, task);
      lines.push(`${times} ${identifier} ?queue=${identifier}&jobKey=${identifier}:cron`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Jobs of the version before this one have no account_id. */
const Payload = z.object({ account_id: z.int().optional(), event_id: z.string() });

const selectEvent = query('select_event_for_extension', (db, $: Arguments<{ accountId: number; eventId: string }>) =>
  db
    .selectFrom('events as e')
    .select(recordedEventOf)
    .where('e.account_id', '=', $.accountId)
    .where('e.id', '=', $.eventId),
);

type EventHandler = (event: ExtensionEvent, context: JobContext<Record<string, unknown>>) => Promise<unknown>;

/** Tells an extension of an event. One whose idea is gone meanwhile is told to nobody, as with webhooks. */
function tellExtension({ on = {} }: Extension, database: Queryable): Handler {
  return async (payload, context) => {
    const { account_id, event_id: eventId } = Payload.parse(payload);
    const accountId = account_id ?? (await findAccountOfEvent(database, eventId));
    if (accountId === undefined) return;
    const [recorded] = await database.query(selectEvent, { accountId, eventId });
    if (!recorded) return;
    const event = presentEvent(recorded);
    // What the last version of the extension asked for may interest this one no more.
    const handle = on[event.type] as EventHandler | undefined;
    await handle?.({ ...event, id: `evt_${eventId}` }, context);
  };
}
