import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startSmtpReceiver } from '../../test/helpers/smtp-receiver.ts';
import { newObservations, type Observations } from './api-client.ts';
import { type BigMerge, prepareBigMerge } from './big-merge.ts';
import { checkDatabase, readWebhookIds } from './check.ts';
import { type Deployment, deploy } from './deployment.ts';
import { doHarm, type Harm } from './harm.ts';
import { type Ledger, newLedger } from './ledger.ts';
import { type Actor, type LoadOptions, runLoad } from './load.ts';
import type { MemoryFigures } from './memory.ts';
import { prepare } from './prepare.ts';
import { type Receiver, startWebhookReceiver } from './receiver.ts';

export interface SoakReport {
  minutes: number;
  startedAt: Date;
  postgresVersion: string;
  /** The load of other programs on the machine, measured before the test. */
  loadBefore: number;
  observations: Observations;
  ledger: Ledger;
  harms: Harm[];
  bigMerge: BigMerge;
  memory: MemoryFigures[];
  events: number;
  deliveries: number;
  faults: Faults;
}

interface Faults {
  /** Answers that violate the contract, answers with an unexpected status, and reads that miss an earlier write. */
  answers: string[];
  /** The requests that got no answer from the server. */
  unanswered: string[];
  /** Acknowledged writes that are lost, duplicated or changed, and rows that no acknowledged write explains. */
  database: string[];
  /** Events that were not delivered, deliveries of unknown events, and deliveries with wrong signatures. */
  events: string[];
  processes: string[];
}

const sampleIntervalMs = 2_000;
/** The soak test merges an idea with many votes when this share of the test's duration has passed. */
const bigMergeShare = 0.2;
const deliveryPatienceMs = 120_000;

export async function runSoak(minutes: number, note: (line: string) => void, signal: AbortSignal): Promise<SoakReport> {
  const startedAt = new Date();
  const loadBefore = loadavg()[0] ?? 0;
  note('starting PostgreSQL, two servers and a worker');
  const receiver = await startWebhookReceiver();
  const smtp = await startSmtpReceiver();
  const deployment = await deploy(sampleIntervalMs, smtp.url);
  try {
    const observations = newObservations();
    const ledger = newLedger();
    const { tokens, tagIds, shared } = await prepare(deployment, receiver, observations, ledger);
    const crowd = await prepareBigMerge(deployment, { seen: observations, ledger });
    let isOver = false;
    const options: LoadOptions = { ledger, seen: observations, tagIds, shared, isOver: () => isOver };
    note(`load for ${minutes} minutes`);
    const load = Promise.all(tokens.map(actor => runLoad(actor, options)));
    const scene = { deployment, receiver, actor: tokens[0] as Actor, smtp };
    // The merge runs between two of the disruptions that doHarm() causes.
    const merging = delay(bigMergeShare * minutes * 60_000, undefined, { signal }).then(() => {
      note('a merge of many votes');
      return crowd.run(scene.actor);
    });
    const [harms, bigMerge] = await Promise.all([doHarm(scene, minutes, note, signal), merging]);
    isOver = true;
    await load;
    note('waiting for the delivery of every event');
    const ids = await awaitDeliveries(deployment, receiver);
    const memory = deployment.memory.figures(minutes);
    const sharedIds = [...shared.map(({ id }) => id), ...crowd.ids];
    const database = await checkDatabase(deployment, ledger, sharedIds);
    const [version] = await deployment.query<{ server_version: string }>('show server_version');
    const ended = await deployment.stop();
    return {
      minutes,
      startedAt,
      loadBefore,
      postgresVersion: version?.server_version ?? 'unknown',
      observations,
      ledger,
      harms,
      bigMerge,
      memory,
      events: ids.size,
      deliveries: receiver.count(),
      faults: {
        answers: [...observations.faults, ...bigMerge.faults],
        unanswered: deployment.balancer.failures,
        database,
        events: [
          ...receiver.faults,
          ...ids
            .difference(receiver.arrivals)
            .values()
            .map(id => `The event ${id} was not delivered`),
          ...[...receiver.arrivals.keys()]
            .filter(id => !ids.has(id))
            .map(id => `The delivered event ${id} does not exist`),
        ],
        processes: [
          ...memory.filter(({ isFlat }) => !isFlat).map(({ name }) => `The memory of ${name} is not flat`),
          ...Object.entries(ended)
            .filter(([, status]) => status !== 0)
            .map(([name, status]) => `${name} ended with ${status}`),
          ...harms.flatMap(({ fault }) => fault ?? []),
        ],
      },
    };
  } finally {
    await deployment.close();
    await receiver.close();
    await smtp.close();
  }
}

async function awaitDeliveries(deployment: Deployment, receiver: Receiver): Promise<Set<string>> {
  const deadline = performance.now() + deliveryPatienceMs;
  for (;;) {
    const ids = await readWebhookIds(deployment);
    const areDelivered = ids.isSubsetOf(receiver.arrivals);
    if (areDelivered || performance.now() > deadline) {
      // Waits, because the worker records the result of a webhook delivery a moment after the receiver's answer.
      await delay(2_000);
      return ids;
    }
    await delay(500);
  }
}
