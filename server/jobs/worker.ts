import { setTimeout as delay } from 'node:timers/promises';
import { buildMailer } from '../delivery/mail/mailer.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { buildOutgoingRequests, type OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { type Runner, type RunnerTiming, startRunner } from './runner.ts';

export interface Worker {
  /** Lets running jobs finish for a limited time. Resolves when the worker has stopped. */
  stop(): Promise<void>;
}

export interface WorkerOptions extends Omit<ServerDependencies, 'passwords'> {
  url: string;
  /**
   * Sends the requests to webhooks and chats. By default, the requests can reach only public IP addresses and the
   * networks in WEBHOOK_ALLOWED_CIDRS.
   */
  requests?: OutgoingRequests;
  /** Intervals and timeouts that replace the default values, for tests. */
  timing?: Partial<WorkerTiming>;
}

interface WorkerTiming extends RunnerTiming {
  /** The delay before the worker starts a new runner after a runner has failed. */
  restartDelayMs: number;
}

const defaultTiming: WorkerTiming = {
  pollIntervalMs: 2_000,
  recoveryIntervalMs: 2_000,
  stopPatienceMs: 5_000,
  settlingMs: 5_000,
  restartDelayMs: 1_000,
};

/**
 * Starts the worker. The worker starts a runner, which runs jobs and cron. Any number of worker processes can share the
 * jobs. If PostgreSQL becomes unavailable, the runner fails. The worker then tries every second to start a new runner,
 * until a runner starts or the worker is stopped.
 */
export async function startWorker({ requests, timing: given, ...server }: WorkerOptions): Promise<Worker> {
  const { config, logger } = server;
  const timing = { ...defaultTiming, ...given };
  const stopping = new AbortController();
  const outgoing = requests ?? buildOutgoingRequests({ guard: buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS) });
  const mailer = buildMailer(config);
  const start = () => startRunner({ ...server, timing, requests: outgoing, mailer, stopping: stopping.signal });
  const close = () => {
    if (!requests) outgoing.close();
    mailer?.close();
  };

  let runner: Runner | undefined;
  try {
    runner = await start();
  } catch (error) {
    close();
    throw error;
  }
  const ended = superviseRunner();

  async function superviseRunner() {
    while (!stopping.signal.aborted) {
      try {
        runner ??= await start();
        // Stops the runner if the worker was stopped while the runner was starting.
        if (stopping.signal.aborted) await runner.stop();
        await runner.ended;
      } catch (error) {
        logger.error({ err: error }, 'the worker failed');
      }
      runner = undefined;
      await delay(timing.restartDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    async stop() {
      stopping.abort();
      await runner?.stop();
      await ended;
      close();
    },
  };
}
