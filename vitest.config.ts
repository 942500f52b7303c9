import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, whose length vitest cannot tell from its size. */
const longest = [
  'test/events/kill.test.ts',
  'test/operations/recovery.test.ts',
  'test/operations/stopping.test.ts',
  'test/client/readme.test.ts',
  'test/admin/browser.test.ts',
  'test/admin/flows.test.ts',
  'test/pages/browser.test.ts',
  'test/oauth/browser.test.ts',
];

/**
 * Begins with the longest files: begun last, one would keep a processor waiting for it. After a run vitest knows how long
 * each took, but a fresh checkout knows sizes alone.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longest.some(path => moduleId.endsWith(path));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))];
  }
}

// Tests read what tools print, which many of them colour wherever CI or FORCE_COLOR is set.
delete process.env.FORCE_COLOR;
process.env.NO_COLOR = '1';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/postgres.ts'],
    // Commands of the command line wait for each other, and for whatever else the machine does.
    testTimeout: 60_000,
    hookTimeout: 30_000,
    // Files share the modules that they import, which saves half a minute, and the PostgreSQL server, not the database.
    isolate: false,
    pool: 'forks',
    // One more than there are cores: some tests mostly wait, such as for a PostgreSQL that is stopped and started.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
});
