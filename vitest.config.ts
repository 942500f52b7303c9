import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { compileCache } from './test/helpers/compile-cache.ts';

/** The test files that take longest, the slowest first. vitest cannot know this order from the sizes of the files. */
const longest = [
  'test/admin/browser.test.ts',
  'test/pages/browser.test.ts',
  'test/packages/install.test.ts',
  'test/backup/backup.test.ts',
  'test/operations/stopping.test.ts',
  'test/operations/recovery.test.ts',
  'test/operations/image.test.ts',
  'test/database/embedded/embedded-postgres.test.ts',
  'test/pages/documentation.test.ts',
  'test/client/drift.test.ts',
  'test/client/readme.test.ts',
  'test/mcp/parity.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/delivery/webhook-delivery.test.ts',
  'test/operations/rolling-restart.test.ts',
  'test/database/embedded/embedded-access.test.ts',
  'test/admin/flows.test.ts',
  'test/delivery/kill.test.ts',
  'test/domain/erasure/clean-up.test.ts',
  'test/cli/administration.test.ts',
  'test/transfer/archive.test.ts',
  'test/delivery/delivery-slots.test.ts',
  'test/extensions/start.test.ts',
  'test/http/idempotency.test.ts',
  'test/jobs/cron-restart.test.ts',
  'test/cli/addresses.test.ts',
  'test/cli/process.test.ts',
  'test/http/bad-input.test.ts',
  'test/admin/second-factor.test.ts',
  'test/database/database.test.ts',
  'test/packages/packages.test.ts',
  'test/endpoints/merging.property.test.ts',
  'test/mcp/answer-size.test.ts',
  'test/operations/followers.test.ts',
  'test/http/event-waits.test.ts',
  'test/consumers/clients.test.ts',
];

/**
 * Runs the slowest test files first. If a slow file started last, the other processors would wait for it. vitest knows
 * the duration of each file only after a first run, so a new checkout needs this list.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const first = longest.flatMap(path => sorted.filter(({ moduleId }) => moduleId.endsWith(path)));
    return [...first, ...sorted.filter(file => !first.includes(file))];
  }
}

// Tests compare the output of tools. With CI or FORCE_COLOR, many tools add colors to their output, so colors are
// turned off.
delete process.env.FORCE_COLOR;
process.env.NO_COLOR = '1';

// Child processes inherit this variable. They start faster with the compile cache.
process.env.NODE_COMPILE_CACHE = compileCache;

export default defineConfig({
  // The paths in tsconfig.json let packages of this repository import each other's source files.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/postgres.ts'],
    // The timeouts are long, because a busy machine is slow. A test that fails by a timeout has found a real defect.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // Test files of one process share loaded modules, which saves half a minute. All files share one PostgreSQL server,
    // but each file has its own database.
    isolate: false,
    pool: 'forks',
    // Larger spaces for young and old objects need fewer garbage collections. They save a seventh of the CPU time.
    execArgv: ['--max-semi-space-size=64', '--initial-old-space-size=1024'],
    // One process more than there are processors, because some tests mostly wait, for example for a restart of
    // PostgreSQL.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
});
