const unreleased = '## Unreleased';

/** The changelogs. A release puts its version and its date into each of them. */
export const changelogs = ['CHANGELOG.md', 'client/CHANGELOG.md'];

/**
 * Replaces the heading "Unreleased" of a changelog by the version and the date of the release. Does not change a
 * changelog that already has the version.
 */
export function dateChangelog(text: string, version: string, date: string): string {
  if (hasVersion(text, version)) return text;
  if (!text.includes(`\n${unreleased}\n`)) throw new Error(`the changelog has neither "${unreleased}" nor ${version}`);
  return text.replace(`\n${unreleased}\n`, `\n## ${version} - ${date}\n`);
}

export function hasVersion(text: string, version: string): boolean {
  return text.includes(`\n## ${version} - `);
}

/** Returns the section of a version, without its heading. */
export function releaseNotes(text: string, version: string): string {
  const [, section] = text.split(`\n## ${version} - `);
  if (section === undefined) throw new Error(`the changelog has no section ${version}`);
  const [, ...lines] = (section.split('\n## ')[0] ?? '').split('\n');
  return `${lines.join('\n').trim()}\n`;
}
