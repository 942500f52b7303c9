import { info } from '../../../contract/openapi/info.ts';
import type { Queryable } from '../../database/database.ts';
import { streamsOf } from '../../database/migration-files.ts';
import { readStreamStates, type StreamState } from '../../database/migrator.ts';
import { selectServer } from '../../database/server-version.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { mostJobsRead, readJobQueue, type TaskQueue } from '../../observability/job-queue.ts';
import {
  findFailedChecks,
  type ReadinessCheck,
  readHeartbeat,
  readinessChecks,
} from '../../observability/readiness.ts';
import { showStored, showTime } from '../../pages/shell/show.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { type OperatorRoute, type OperatorVisit, operate } from '../shell/change.ts';

/**
 * The first page of the operator's panel. It shows the readiness checks, the migrations, the versions and the job
 * queue.
 */
export const statusRoute: OperatorRoute = { path: '/operator', show: showStatus };

async function showStatus(visit: OperatorVisit) {
  const { server } = visit;
  const failed = await findFailedChecks(server);
  const data = await operate(visit, async admin => {
    const streams = await readStreamStates(admin, streamsOf(server.extensions));
    const heartbeat = await readHeartbeat(admin);
    return {
      isReady: failed.length === 0,
      checks: readinessChecks.map(name => ({
        name,
        isPassed: !failed.includes(name),
        explanation: explain(name, { server, streams, heartbeat }),
      })),
      streams: streams.map(presentStream),
      versions: await readVersions(admin, server),
      ...presentQueue(await readJobQueue(admin)),
    };
  });
  return visit.page('status/status', t('operator.status.title'), data);
}

interface Facts {
  server: ServerDependencies;
  streams: StreamState[];
  heartbeat: string | undefined;
}

/** Explains the result of a check of GET /ready, with the values that the check compares. */
function explain(check: ReadinessCheck, { server, streams, heartbeat }: Facts): string {
  if (check === 'database') return t('operator.status.database');
  if (check === 'migrations') {
    const pending = streams.flatMap(({ stream, pending }) => pending.map(name => `${stream}/${name}`));
    return pending.length === 0
      ? t('operator.status.no_migration_pending')
      : t('operator.status.migrations_pending', { names: pending.join(', ') });
  }
  const limit = server.config.READINESS_CRON_MAX_AGE_MINUTES;
  if (heartbeat === undefined) return t('operator.status.never_run', { limit });
  return t('operator.status.last_run', { time: showTime(new Date(heartbeat)).text, limit });
}

function presentStream({ stream, appliedCount, last, pending, unknown }: StreamState) {
  return {
    name: stream,
    applied: appliedCount,
    last: last && { name: last.name, time: showTime(new Date(last.applied_at)) },
    pending,
    unknown,
  };
}

async function readVersions(database: Queryable, { extensions }: ServerDependencies) {
  const [postgres] = await database.query(selectServer, {});
  return [
    { term: 'Idea-Board', text: info.version },
    { term: 'Node.js', text: process.version },
    { term: 'PostgreSQL', text: postgres?.version ?? t('operator.status.unknown_version') },
    {
      term: t('operator.status.extensions'),
      text: extensions.map(({ name }) => name).join(', ') || t('operator.status.no_extensions'),
    },
  ];
}

function presentQueue(tasks: TaskQueue[]) {
  const total = tasks.reduce((sum, { queued }) => sum + queued, 0);
  return {
    tasks: tasks.map(task => ({ ...task, oldestDue: showStored(task.oldest_due_at) })),
    // The number of jobs that the server has read, but only if it stopped at mostJobsRead. There may then be more jobs,
    // and the counts may be too low.
    mostJobs: total < mostJobsRead ? undefined : mostJobsRead,
    failingJobs: tasks.flatMap(({ task, failing_jobs }) =>
      failing_jobs.map(job => ({
        task,
        id: job.id,
        attempts: job.attempts,
        maxAttempts: job.max_attempts,
        next: showStored(job.next_attempt_at),
        error: shortLine(job.last_error ?? '', 300, t('operator.status.no_message')),
      })),
    ),
  };
}
