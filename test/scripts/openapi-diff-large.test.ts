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
 * A module that prints the CPU time and the memory that its process used. Then the module measures the CPU time of a
 * fixed loop, and prints it. The loop takes 1 s of CPU time on a usual machine, and longer when other programs slow
 * down the processor.
 */
const printUsage = `data:text/javascript,${encodeURIComponent(`
  const cpuSeconds = () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    return (userCPUTime + systemCPUTime) / 1e6;
  };
  process.on('exit', () => {
    const used = cpuSeconds();
    const megabytes = process.resourceUsage().maxRSS / 1e3;
    const counts = new Map();
    for (let n = 0; n < 4e6; n++) counts.set('key' + (n * 7919) % 50021, n);
    console.error(JSON.stringify({ used, megabytes, loop: cpuSeconds() - used }));
  });
`)}`;

test('openapi-diff compares two documents of 3.4 MB with changes in all 1,038 schemas within 500 MB and, on usual machines, 15 s of CPU time', async () => {
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
    const { used, megabytes, loop } = JSON.parse(stderr);
    expect(used / loop).toBeLessThan(15);
    expect(megabytes).toBeLessThan(500);
  } finally {
    await rm(directory, { recursive: true });
  }
});
