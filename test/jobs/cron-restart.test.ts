import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { loadExtensions } from '../../server/extensions/load-extensions.ts';
import { fixture, prepare } from '../extensions/with-extensions.ts';
import { type ChildServer, loadChildServer } from '../helpers/child-servers.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { waitingJobs } from '../helpers/jobs.ts';
import { eventually } from '../helpers/webhooks.ts';

const minuteMs = 60_000;
/**
 * The time in milliseconds for a worker process to start, even on a busy machine. When this time has passed, the
 * shifted clock of the process reaches the tested minute.
 */
const leadMs = 5_000;

const shiftedClock = fileURLToPath(new URL('../helpers/shifted-clock.ts', import.meta.url));

test("two workers start an extension's cron job once a minute, and if both workers are killed during the job, a third worker finishes the job", async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await prepare(db, await loadExtensions([fixture('ticker')]));
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-clock-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const load = (clock: string, pauseMs: number): ChildServer => {
    const child = loadChildServer(db.url, {
      WITHOUT_HTTP: '1',
      EXTENSIONS: fixture('ticker'),
      EXT_TICKER_PAUSE_MS: String(pauseMs),
      NODE_OPTIONS: `--import ${shiftedClock}`,
      CLOCK_SHIFT_FILE: join(directory, clock),
    });
    onTestFinished(() => child.kill());
    return child;
  };
  /**
   * Shifts the clock of a process, so that the clock shows the time `at` when `leadMs` have passed. Returns the shift
   * in milliseconds.
   */
  const setClock = async (clock: string, at: Date): Promise<number> => {
    const shiftMs = at.getTime() - (Date.now() + leadMs);
    await writeFile(join(directory, clock), String(shiftMs));
    return shiftMs;
  };
  const ticks = () => db.sql<{ at: string; what: string }>('select at, what from ticker_ticks');
  const lastExecution = async (identifier: string) => {
    const [known] = await db.sql<{ last_execution: string | null }>(
      'select last_execution from graphile_worker._private_known_crontabs where identifier = $1',
      [identifier],
    );
    return known?.last_execution ? new Date(known.last_execution).toISOString() : null;
  };

  // PostgreSQL's own clock is not shifted, so for PostgreSQL the tested minute is in the past. So the cron jobs of this
  // minute run immediately.
  const minute = new Date(Math.floor(Date.now() / minuteMs) * minuteMs);
  const at = minute.toISOString();
  const [first, second, third] = [load('one', 20_000), load('one', 20_000), load('two', 0)];
  await Promise.all([first.isLoaded, second.isLoaded, third.isLoaded]);

  const shiftMs = await setClock('one', minute);
  await Promise.all([first.begin(), second.begin()]);
  await eventually(async () => expect(await ticks()).toEqual([{ at, what: 'began' }]));
  // Waits for the heartbeat of the tested minute. A worker also records a heartbeat when it starts, but that heartbeat
  // is earlier.
  await eventually(async () => {
    const [heartbeat] = await db.sql<{ recorded_at: string }>(`select recorded_at from heartbeats`);
    expect(new Date(heartbeat?.recorded_at ?? 0).getTime()).toBeGreaterThanOrEqual(minute.getTime() - shiftMs);
  });
  await Promise.all([first.kill(), second.kill()]);
  expect(await ticks()).toEqual([{ at, what: 'began' }]);

  // The clock of the third worker shows the same minute as the clocks of the killed workers did. So the third worker
  // behaves like a restarted worker with a slow clock.
  await db.sql(`delete from graphile_worker._private_known_crontabs where identifier = 'heartbeat'`);
  await setClock('two', minute);
  await third.begin();
  await eventually(async () => expect(await ticks()).toContainEqual({ at, what: 'ended' }));
  await eventually(async () => expect(await lastExecution('heartbeat')).toBe(at));
  expect(await lastExecution('ext:ticker:tick')).toBe(at);
  expect((await waitingJobs(db)).map(({ task }) => task)).not.toContain('ext:ticker:tick');
  // The third worker repeated only the interrupted job.
  expect((await ticks()).map(({ what }) => what)).toEqual(['began', 'began', 'ended']);
});
