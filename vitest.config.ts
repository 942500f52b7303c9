import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { compileCache } from './test/helpers/compile-cache.ts';

/** What takes longest, in this order: vitest cannot tell it from a file's size. */
const longest = [
  'test/delivery/kill.test.ts',
  'test/endpoints/merging.property.test.ts',
  'test/operations/stopping.test.ts',
  'test/admin/browser.test.ts',
  'test/operations/recovery.test.ts',
  'test/admin/flows.test.ts',
  'test/packages/install.test.ts',
  'test/client/drift.test.ts',
  'test/operations/rolling-restart.test.ts',
  'test/database/embedded/embedded-postgres.test.ts',
  'test/pages/browser.test.ts',
  'test/delivery/webhook-delivery.test.ts',
  'test/database/database.test.ts',
  'test/client/readme.test.ts',
  'test/oauth/browser.test.ts',
  'test/jobs/cron-restart.test.ts',
  'test/consumers/clients.test.ts',
];

/**
 * Begins with the longest files: begun last, one would keep a processor waiting for it. After a run vitest knows how long
 * each took, but a fresh checkout knows sizes alone.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const first = longest.flatMap(path => sorted.filter(({ moduleId }) => moduleId.endsWith(path)));
    return [...first, ...sorted.filter(file => !first.includes(file))];
  }
}

// Tests read what tools print, which many of them colour wherever CI or FORCE_COLOR is set.
delete process.env.FORCE_COLOR;
process.env.NO_COLOR = '1';

// Child processes that inherit the environment use the compile cache.
process.env.NODE_COMPILE_CACHE = compileCache;

export default defineConfig({
  // The paths in tsconfig.json let the packages of the repository import each other's source code.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/postgres.ts'],
    // What never comes true is a defect; what comes late is a busy machine.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Files share the modules that they import, which saves half a minute, and the PostgreSQL server, not the database.
    isolate: false,
    pool: 'forks',
    // Larger spaces for young and old objects need fewer garbage collections. They save a seventh of the CPU time.
    execArgv: ['--max-semi-space-size=64', '--initial-old-space-size=1024'],
    // One more than there are cores: some tests mostly wait, such as for a PostgreSQL that is stopped and started.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
});
