import { setTimeout as delay } from 'node:timers/promises';
import type { SmtpReceiver } from '../../test/helpers/smtp-receiver.ts';
import type { Deployment, ProcessName } from './deployment.ts';
import { faultOfHanging, type HangingFigures, measureHanging } from './hanging.ts';
import type { Actor } from './load.ts';
import type { Receiver } from './receiver.ts';

export interface Harm {
  what: string;
  atMinute: number;
  /**
   * The times until the servers recovered from a restart of PostgreSQL: until all servers answered, and until a webhook
   * arrived.
   */
  recovered: { answeredMs: number; toldMs: number } | undefined;
  fault: string | undefined;
  /**
   * The longest delays of one account's webhook and mail, while the webhook endpoints of another account never answer.
   */
  hanging?: HangingFigures;
}

const outageMs = 3_000;

interface Scene {
  deployment: Deployment;
  receiver: Receiver;
  actor: Actor;
  smtp: SmtpReceiver;
}

type Outcome = Pick<Harm, 'recovered' | 'fault' | 'hanging'>;

/** The disruptions of the soak test. The number is the start of a disruption, as a share of the test's duration. */
const harmful: [number, string, (scene: Scene) => Promise<Outcome>][] = [
  [0.15, 'PostgreSQL stopped (fast), away for 3 s, started', scene => restartPostgres(scene, 'fast')],
  [0.35, 'Server 1 restarted (SIGTERM)', scene => restart(scene, 'server 1')],
  [0.42, 'A hundred endpoints of one account never answer', scene => hangEndpoints(scene)],
  [0.55, 'PostgreSQL killed (kill -9), away for 3 s, started', scene => restartPostgres(scene, 'kill')],
  [0.7, 'Server 2 restarted (SIGTERM)', scene => restart(scene, 'server 2')],
  [0.85, 'Worker restarted (SIGTERM)', scene => restart(scene, 'worker')],
];

export async function doHarm(
  scene: Scene,
  minutes: number,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<Harm[]> {
  const startedAt = performance.now();
  const until = (share: number) =>
    delay(Math.max(0, startedAt + share * minutes * 60_000 - performance.now()), undefined, { signal });
  const harms: Harm[] = [];
  for (const [share, what, doIt] of harmful) {
    await until(share);
    note(what);
    const atMinute = (performance.now() - startedAt) / 60_000;
    harms.push({ what, atMinute, ...(await doIt(scene)) });
  }
  await until(1);
  return harms;
}

async function restartPostgres({ deployment, receiver, actor }: Scene, how: 'fast' | 'kill'): Promise<Outcome> {
  const { postgres, servers } = deployment;
  await postgres.stop(how);
  await delay(outageMs);
  await postgres.start();
  const backAt = performance.now();
  const since = async (isTrue: () => Promise<boolean> | boolean) => {
    while (!(await isTrue())) await delay(20);
    return performance.now() - backAt;
  };
  const answered = servers().map(({ baseUrl }) => since(() => answers(baseUrl, actor)));
  const told = receiver.count();
  const [toldMs, ...answeredMs] = await Promise.all([since(() => receiver.count() > told), ...answered]);
  return { recovered: { answeredMs: Math.max(...answeredMs), toldMs }, fault: undefined };
}

async function hangEndpoints({ deployment, smtp }: Scene): Promise<Outcome> {
  const hanging = await measureHanging(deployment, smtp);
  return { recovered: undefined, fault: faultOfHanging(hanging), hanging };
}

async function answers(baseUrl: string, { token }: Actor): Promise<boolean> {
  const { status } = await fetch(`${baseUrl}/api/v1/board`, { headers: { authorization: `Bearer ${token}` } });
  return status === 200;
}

async function restart({ deployment }: Scene, name: ProcessName): Promise<Outcome> {
  const status = await deployment.restart(name);
  const fault = status === 0 ? undefined : `${name} ended with ${status} after SIGTERM`;
  return { recovered: undefined, fault };
}
