import type { Task, TaskList } from 'graphile-worker';
import { endAfter, runInSpan, type Tracing } from '../observability/active-span.ts';

/**
 * Runs each job in a span. If a traced request added the job, the span continues the trace of the request. Tasks never
 * see the `traceparent` in their payload, even if this process does not trace.
 */
export function traceTasks(tasks: TaskList, tracing: Tracing | undefined): TaskList {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [name, task && traceTask(name, task, tracing)]),
  );
}

function traceTask(name: string, task: Task, tracing: Tracing | undefined): Task {
  return (given, helpers) => {
    const { payload, traceparent } = splitPayload(given);
    const run = async () => task(payload as never, helpers);
    if (!tracing) return run();
    const { id, attempts } = helpers.job;
    const attributes = { 'idea_board.job_id': id, 'idea_board.job_attempt': attempts };
    const span = tracing.start(`job ${name}`, { kind: 'consumer', parent: traceparent, attributes });
    return endAfter(span, runInSpan(span, run));
  };
}

function splitPayload(given: unknown): { payload: unknown; traceparent?: string } {
  const { traceparent, ...payload } = { ...(given as { traceparent?: unknown }) };
  if (typeof traceparent !== 'string' || Array.isArray(given)) return { payload: given };
  return { payload, traceparent };
}
