import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { largeDocument } from './openapi-large.ts';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../../scripts/openapi-diff/cli.ts', import.meta.url));

/**
 * A module that prints the CPU time and the memory that its process used. The CPU time does not depend on the load of
 * the machine.
 */
const printUsage = `data:text/javascript,${encodeURIComponent(`
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    console.error(JSON.stringify({ cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, megabytes: maxRSS / 1e3 }));
  });
`)}`;

test('openapi-diff compares two documents of 3.4 MB, in which all 1,038 schemas changed, with at most 15 s of CPU time and 500 MB', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-diff-large-'));
  try {
    for (const [name, isNew] of Object.entries({ 'base.json': false, 'head.json': true })) {
      const text = largeDocument(isNew);
      expect(text.length).toBeGreaterThan(3_400_000);
      await writeFile(join(directory, name), text);
    }
    const args = ['--max-semi-space-size=4', '--import', printUsage, program, 'base.json', 'head.json'];
    const options = { cwd: directory, maxBuffer: 64 * 1024 * 1024 };
    const { stdout, stderr } = await run(process.execPath, [...args, '--fail-on', 'none'], options);
    const changed = new Set(
      [...stdout.matchAll(/^ {2}head #\/components\/schemas\/(schema_\d+)/gm)].map(([, one]) => one),
    );
    expect(changed.size).toBe(1_038);
    const { cpuSeconds, megabytes } = JSON.parse(stderr);
    expect(cpuSeconds).toBeLessThan(15);
    expect(megabytes).toBeLessThan(500);
  } finally {
    await rm(directory, { recursive: true });
  }
});
