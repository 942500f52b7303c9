import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { endProcess } from './end-process.ts';
import type { ErrorReporter } from './observability/error-reporter.ts';

/** The functions that stop the started parts of the process. The part that started last stops first. */
export type Stops = ((reason: StopReason) => Promise<unknown>)[];

export interface StopReason {
  /** How long the server continues to serve, in milliseconds, so that load balancers notice the stop. */
  noticeMs: number;
}

/** Registers a reporter for uncaught errors. The log gets these errors even without a reporter. */
export type ReportCrashes = (reporter: ErrorReporter) => void;

/** The maximum time between two signals that count as one. With npm, a process gets the signal of one Ctrl-C twice. */
const sameSignalMs = 1_000;

type LifecycleConfig = Pick<Config, 'SHUTDOWN_DELAY_MS' | 'SHUTDOWN_TIMEOUT_MS'>;

/**
 * Starts the parts of a process and stops them at SIGINT or SIGTERM. The exit status is 0 after a complete stop, and 1
 * after a timeout, an error or a second signal. An orchestrator sends SIGTERM while load balancers still send requests.
 * After SIGTERM, the server waits for SHUTDOWN_DELAY_MS, so that the load balancers can notice the stop. SIGINT comes
 * from a terminal, so there is no wait.
 */
export async function runUntilSignal(
  config: LifecycleConfig,
  logger: Logger,
  start: (stops: Stops, reportCrashes: ReportCrashes) => Promise<void>,
): Promise<void> {
  const reportCrashes = endOnCrash(logger);
  const stops: Stops = [];
  const stop = async (reason: StopReason) => {
    for (const one of stops.splice(0).reverse()) await one(reason);
  };
  let isStarted = false;
  const starting = start(stops, reportCrashes).then(() => {
    isStarted = true;
  });
  stopOnSignal(config, logger, signal => {
    // A server that is still starting stops without the delay, because load balancers send it no requests yet.
    const reason = { noticeMs: isStarted && signal === 'SIGTERM' ? config.SHUTDOWN_DELAY_MS : 0 };
    // Waits until the start has ended before it handles a signal, because a part that is still starting cannot be
    // stopped.
    return starting.then(
      () => stop(reason),
      () => stop({ noticeMs: 0 }),
    );
  });
  try {
    await starting;
  } catch (error) {
    await stopInTime(config, logger, stop({ noticeMs: 0 }));
    throw error;
  }
}

/**
 * Stops the started parts after a failed start. Has a time limit, so that the process always prints the error of the
 * start.
 */
async function stopInTime({ SHUTDOWN_TIMEOUT_MS }: LifecycleConfig, logger: Logger, stopping: Promise<void>) {
  const isOver = new AbortController();
  const stopped = stopping.catch(error => logger.error({ err: error }, 'stopping failed'));
  await Promise.race([stopped, delay(SHUTDOWN_TIMEOUT_MS, undefined, isOver).catch(() => {})]);
  isOver.abort();
}

function stopOnSignal(config: LifecycleConfig, logger: Logger, stop: (signal: string) => Promise<void>) {
  let stoppingSince: number | undefined;
  const onSignal = (signal: string) => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince < sameSignalMs) return;
      logger.error({ signal }, 'a second signal ended the process before the stop was complete');
      return endProcess(1);
    }
    stoppingSince = performance.now();
    logger.info({ signal }, 'stopping');
    const deadlineMs = (signal === 'SIGTERM' ? config.SHUTDOWN_DELAY_MS : 0) + config.SHUTDOWN_TIMEOUT_MS;
    setTimeout(() => {
      logger.error({ deadlineMs }, 'stopping took too long');
      endProcess(1);
    }, deadlineMs).unref();
    stop(signal).then(
      () => endProcess(0),
      error => {
        logger.error({ err: error }, 'stopping failed');
        endProcess(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal);
}

/**
 * Logs and reports an uncaught error. Then ends the process, because the state of the process is unknown after the
 * error.
 */
function endOnCrash(logger: Logger): ReportCrashes {
  const reporters: ErrorReporter[] = [];
  process.on('uncaughtException', async (error, origin) => {
    logger.fatal({ err: error, origin }, 'an uncaught error ends the process');
    for (const reporter of reporters) reporter.report(error, { origin });
    await Promise.allSettled(reporters.map(reporter => reporter.close()));
    endProcess(1);
  });
  return reporter => void reporters.push(reporter);
}
