import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const repository = fileURLToPath(new URL('../../', import.meta.url));

/** A problem that a linter found in an OpenAPI document. */
export interface Finding {
  rule: string;
  /** The keys on the path from the root of the document to the problem, joined by dots. */
  path: string;
}

/** Runs Redocly with the configuration of the project. Returns the problems of every severity that Redocly finds. */
export async function lintWithRedocly(file: string): Promise<Finding[]> {
  const cli = require.resolve('@redocly/cli/bin/cli.js');
  const output = await run([cli, 'lint', file, '--config=redocly.yaml', '--format=json', '--max-problems=1000']);
  const { problems } = JSON.parse(output) as { problems: { ruleId: string; location: { pointer: string }[] }[] };
  return problems.map(({ ruleId, location }) => ({ rule: ruleId, path: keysOf(location[0]?.pointer ?? '') }));
}

/** Converts a JSON Pointer to Spectral's notation of paths. */
function keysOf(pointer: string): string {
  const keys = pointer.replace(/^#?\//, '').split('/');
  return keys.map(key => key.replaceAll('~1', '/').replaceAll('~0', '~')).join('.');
}

/** Runs Spectral with the ruleset of the project. Returns the problems of every severity that Spectral finds. */
export async function lintWithSpectral(file: string): Promise<Finding[]> {
  const cli = require.resolve('@stoplight/spectral-cli/dist/index.js');
  const output = await run([cli, 'lint', file, '--ruleset=.spectral.yaml', '--format=json', '--quiet']);
  const findings = JSON.parse(output) as { code: string; path: string[] }[];
  return findings.map(({ code, path }) => ({ rule: code, path: path.join('.') }));
}

/**
 * Runs a linter and returns its output. Ignores the exit status, because a linter that finds problems also exits with
 * an error status.
 */
function run(args: string[]): Promise<string> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: repository, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
}
