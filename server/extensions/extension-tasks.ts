import type { Task, TaskList } from 'graphile-worker';
import { sql as fragment } from 'kysely';
import { z } from 'zod';
import { inTime } from '../database/in-time.ts';
import { type Arguments, query } from '../database/query.ts';
import { findAccountOfEvent, presentEvent, recordedEventOf } from '../domain/events/recorded-event.ts';
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
  /** The worker aborts this signal when it stops. */
  stopping: AbortSignal;
}

/** The time limit of a job. Without the limit, jobs that hang would use up all job slots of the worker. */
const jobTimeoutMs = 300_000;

type Handler = (payload: unknown, context: JobContext<Record<string, unknown>>) => Promise<unknown>;

/** Builds the tasks of all extensions, and the task that deletes the subscriptions of removed extensions. */
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
    tasks[eventIdentifier(name)] = run(eventIdentifier(name), handleEvent(extension, deps));
    tasks[renewalIdentifier(name)] = () => renewSubscriptions(database, [extension]);
  }
  return tasks;
}

/**
 * Returns the crontab of the extensions. If a task fails, the worker retries it until its next scheduled time. Two runs
 * of the same task never overlap.
 */
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

/** The payload of a job for an event. Jobs that an older version of the server added have no account_id. */
const Payload = z.object({ account_id: z.int().optional(), event_id: z.string() });

const selectEvent = query('select_event_for_extension', (db, $: Arguments<{ accountId: number; eventId: string }>) =>
  db
    .selectFrom('events as e')
    .select(recordedEventOf)
    .where('e.account_id', '=', $.accountId)
    .where('e.id', '=', $.eventId),
);

/** Notes that an extension has received an event. Then the sweep adds no job for it. */
const markReceived = query(
  'mark_event_received',
  (db, $: Arguments<{ accountId: number; eventId: string; extension: string }>) =>
    db
      .updateTable('events as e')
      .set({ waiting_extensions: fragment`array_remove(e.waiting_extensions, ${$.extension})` })
      .where('e.account_id', '=', $.accountId)
      .where('e.id', '=', $.eventId)
      .where(e => e($.extension, '=', e.fn.any('e.waiting_extensions'))),
);

type EventHandler = (event: ExtensionEvent, context: JobContext<Record<string, unknown>>) => Promise<unknown>;

/** Builds the task that passes an event to an extension. Skips an event that was deleted in the meantime. */
function handleEvent({ name, on = {} }: Extension, { database, config }: ContextDependencies): Handler {
  return async (payload, context) => {
    const { account_id, event_id: eventId } = Payload.parse(payload);
    const accountId = account_id ?? (await findAccountOfEvent(database, eventId));
    if (accountId === undefined) return;
    const [recorded] = await database.query(selectEvent, { accountId, eventId });
    if (!recorded) return;
    const event = presentEvent(recorded, config);
    // The handler may be missing, because another version of the extension may have subscribed to this type of event.
    const handle = on[event.type] as EventHandler | undefined;
    await handle?.({ ...event, id: `evt_${eventId}` }, context);
    await database.query(markReceived, { accountId, eventId, extension: name });
  };
}
