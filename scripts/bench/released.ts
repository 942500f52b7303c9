import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import packageFile from '../../package.json' with { type: 'json' };
import type { Ratios } from './goals.ts';
import { type Report, ratiosIn } from './report.ts';

/** The ratios of the last release, measured by `npm run bench -- --save`. */
interface Release {
  version: string;
  /** The measured commit. */
  commit: string;
  ratios: Record<string, Ratios>;
}

const file = fileURLToPath(new URL('released.json', import.meta.url));

export async function readRelease(): Promise<Release> {
  return JSON.parse(await readFile(file, 'utf8'));
}

export async function saveRelease({ scenarios }: Report) {
  const { stdout } = await promisify(execFile)('git', ['rev-parse', 'HEAD'], { cwd: dirname(file) });
  const ratios = Object.fromEntries(scenarios.map(one => [one.name, rounded(ratiosIn(one))]));
  const release: Release = { version: packageFile.version, commit: stdout.trim(), ratios };
  await writeFile(file, `${JSON.stringify(release, null, 2)}\n`);
}

function rounded(ratios: Ratios): Ratios {
  const entries = Object.entries(ratios).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, Number(value.toFixed(3))]));
}
