import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/postgres.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Files share nothing but the PostgreSQL server: each has a database of its own.
    isolate: true,
    pool: 'forks',
    // One for each core: by default one core would be left to what computes little here.
    maxWorkers: '100%',
  },
});
