import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { endProcess } from './end-process.ts';
import type { ErrorReporter } from './observability/error-reporter.ts';

/** Stops the started parts, the last one first. */
export type Stops = ((reason: StopReason) => Promise<unknown>)[];

export interface StopReason {
  /** How long the server goes on serving, so that balancers notice the stop. */
  noticeMs: number;
}

/** Adds a reporter of uncaught errors. The log has them in any case. */
export type ReportCrashes = (reporter: ErrorReporter) => void;

/** Ctrl-C in a terminal sends the signal twice: directly, and through npm. The second one follows within this time. */
const sameSignalMs = 1_000;

type LifecycleConfig = Pick<Config, 'SHUTDOWN_DELAY_MS' | 'SHUTDOWN_TIMEOUT_MS'>;

/**
 * Starts a process and stops it at SIGINT or SIGTERM. The exit status is 0 after a complete stop, and 1 after a timeout or
 * a second signal. Orchestrators send SIGTERM while balancers still send requests, so SIGTERM gives the balancers time to
 * notice. SIGINT comes from a terminal and stops at once.
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
    // Balancers do not know a server that is still starting.
    const reason = { noticeMs: isStarted && signal === 'SIGTERM' ? config.SHUTDOWN_DELAY_MS : 0 };
    // A signal during the start waits for its end, because a half-started part cannot be stopped.
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

/** Limits the time of the stop after a failed start, so that the error is always printed. */
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

/** After an uncaught error the state of the process is unknown. Logs and reports the error, and ends the process. */
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
