import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { endProcess } from './end-process.ts';
import type { ErrorReporter } from './observability/error-reporter.ts';

/** Undoes what was started, the last first. The first to be told is what others send work to. */
export type Stops = ((reason: StopReason) => Promise<unknown>)[];

export interface StopReason {
  /** What a stop waits until whoever sends requests here has noticed. */
  noticeMs: number;
}

/** Names who is told, beside the log, of a fault that nobody caught. */
export type TellFaults = (reporter: ErrorReporter) => void;

/** Npm passes on the signal that a terminal's Ctrl-C sends to all: what comes so soon after the first is the same one. */
const sameSignalMs = 1_000;

type LifecycleConfig = Pick<Config, 'SHUTDOWN_DELAY_MS' | 'SHUTDOWN_TIMEOUT_MS'>;

/**
 * Starts, and stops at SIGINT or SIGTERM: status 0 when all was finished, 1 when that took too long or a second signal
 * would not wait. SIGTERM is what orchestrators send, while balancers still send requests: they are given time to notice.
 * At a terminal nobody has to.
 */
export async function runUntilSignal(
  config: LifecycleConfig,
  logger: Logger,
  start: (stops: Stops, tellFaults: TellFaults) => Promise<void>,
): Promise<void> {
  const tellFaults = endOnFault(logger);
  const stops: Stops = [];
  const stop = async (reason: StopReason) => {
    for (const one of stops.splice(0).reverse()) await one(reason);
  };
  let isStarted = false;
  const starting = start(stops, tellFaults).then(() => {
    isStarted = true;
  });
  stopOnSignal(config, logger, signal => {
    // Nobody has been told of a server that is still starting.
    const reason = { noticeMs: isStarted && signal === 'SIGTERM' ? config.SHUTDOWN_DELAY_MS : 0 };
    // A signal in the middle of the start waits for its end: what is half started could not be stopped.
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

/** Why it could not start is what has to be told, also where something that was begun does not end. */
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
      logger.error({ signal }, 'a second signal ended the process before all was finished');
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

/** After a fault that nobody caught, nothing is known of the process's state: it says what it was, and ends. */
function endOnFault(logger: Logger): TellFaults {
  const reporters: ErrorReporter[] = [];
  process.on('uncaughtException', async (error, origin) => {
    logger.fatal({ err: error, origin }, 'a fault that nobody caught ends the process');
    for (const reporter of reporters) reporter.report(error, { origin });
    await Promise.allSettled(reporters.map(reporter => reporter.close()));
    endProcess(1);
  });
  return reporter => void reporters.push(reporter);
}
