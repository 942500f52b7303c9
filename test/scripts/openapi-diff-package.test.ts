import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { documentWith } from './openapi-pair.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../', import.meta.url));

test('the packed openapi-diff runs outside the repository, as JavaScript, with only its three dependencies', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-diff-package-'));
  try {
    const { stdout } = await run('npm', ['pack', '--json', '--silent', '--pack-destination', directory], {
      cwd: join(repository, 'scripts/openapi-diff'),
    });
    const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [
      { filename: string; files: { path: string }[] },
    ];
    const paths = files.map(({ path }) => path).filter(path => !path.startsWith('dist/'));
    expect(paths.sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
    const installed = join(directory, 'node_modules/@idea-board/openapi-diff');
    await mkdir(installed, { recursive: true });
    await run('tar', ['-xzf', join(directory, filename), '-C', installed, '--strip-components=1']);
    const { dependencies, bin } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect(Object.keys(dependencies)).toEqual(['commander', 'jsoncompat', 'yaml']);
    for (const name of Object.keys(dependencies)) {
      await symlink(join(repository, 'node_modules', name), join(directory, 'node_modules', name));
    }
    await writeFile(join(directory, 'api.json'), JSON.stringify(documentWith({})));
    const program = join(installed, bin['openapi-diff']);
    const result = await run(process.execPath, [program, 'api.json', 'api.json'], { cwd: directory });
    expect(result.stdout).toBe('api.json -> api.json\nNo change that a client can see\n');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}, 180_000);
