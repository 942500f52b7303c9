import { defineConfig } from 'vitest/config';

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
    // One for each core: by default one core would be left to what computes little here.
    maxWorkers: '100%',
  },
});
