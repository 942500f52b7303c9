import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changelogs, dateChangelog, releaseNotes } from '../../scripts/release/changelog.ts';
import { refuseLicences } from '../../scripts/release/licences.ts';
import { findPublishedFolders, readManifest, repository } from '../../scripts/release/repository.ts';
import { type Component, makeSbom } from '../../scripts/release/sbom.ts';

const changelog = '# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.0.0 - 2026-11-24\n\n- Old.\n';

test('a release replaces "Unreleased" in a changelog by its version and date, and a second run changes nothing', () => {
  const dated = dateChangelog(changelog, '1.1.0', '2026-12-01');
  expect(dated).toBe(changelog.replace('Unreleased', '1.1.0 - 2026-12-01'));
  expect(dateChangelog(dated, '1.1.0', '2026-12-02')).toBe(dated);
  expect(releaseNotes(dated, '1.1.0')).toBe('- New.\n');
  expect(() => dateChangelog(dated, '1.2.0', '2026-12-02')).toThrow('neither "## Unreleased" nor 1.2.0');
});

test('the server and the published packages have the same version, and each changelog has a section of a version or "Unreleased"', () => {
  const { version } = readManifest(repository);
  for (const folder of findPublishedFolders(repository))
    expect([folder, readManifest(repository, folder).version]).toEqual([folder, version]);
  for (const file of changelogs) {
    expect(readFileSync(join(repository, file), 'utf8')).toMatch(
      /\n## (?:Unreleased|\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d)\n/,
    );
  }
});

test('two SBOMs of one commit are equal, and contain production dependencies with allowed licences, but not Vitest', () => {
  const date = new Date('2026-11-24T00:00:00Z');
  const sbom = makeSbom(repository, date);
  expect(sbom).toEqual(makeSbom(repository, date));
  const names = sbom.components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'pg', '@idea-board/client', 'jsoncompat']));
  expect(names).not.toContain('vitest');
  expect(refuseLicences(sbom.components)).toEqual([]);
});

test('a release refuses dependencies with a missing licence or with a licence that is not allowed', () => {
  const component = (expression?: string, name = 'a'): Component => ({
    'bom-ref': `${name}@1.0.0`,
    name,
    version: '1.0.0',
    ...(expression === undefined ? {} : { licenses: [{ expression }] }),
  });
  const refused = (expression?: string, name?: string) => refuseLicences([component(expression, name)]).length > 0;
  expect(['MIT', '(MIT OR GPL-3.0-only)', 'MIT AND ISC'].map(one => refused(one))).toEqual([false, false, false]);
  expect([undefined, 'GPL-3.0-only', 'MIT AND GPL-3.0-only', ''].map(one => refused(one))).toEqual(Array(4).fill(true));
  expect([refused('LGPL-3.0-or-later', '@img/sharp-linux-x64'), refused('LGPL-3.0-or-later')]).toEqual([false, true]);
});
