import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { streamsOf } from '../../server/database/migration-files.ts';
import { ExtensionError } from '../../server/extensions/extension-error.ts';
import { loadExtensions } from '../../server/extensions/load-extensions.ts';
import { fixture, formInboxSecret } from './with-extensions.ts';

const api = fileURLToPath(new URL('../../server/extensions/extension.ts', import.meta.url));
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'idea-board-extensions-'));
  return () => rm(directory, { recursive: true });
});

let count = 0;

/** Writes a module with this source text and returns its path. */
async function write(text: string): Promise<string> {
  const path = join(directory, `extension-${++count}.mjs`);
  await writeFile(path, text);
  return path;
}

const exporting = (definition: string) =>
  write(`import { defineExtension } from '${api}';\nexport default defineExtension(${definition});`);

async function refusal(modules: string[], environment?: Record<string, string>): Promise<string> {
  const error = await loadExtensions(modules, environment).catch(refused => refused);
  expect(error).toBeInstanceOf(ExtensionError);
  expect(error.message).not.toContain('\n');
  return error.message;
}

describe('EXTENSIONS', () => {
  test("extensions can be loaded by absolute or relative paths, and their migrations run after the server's migrations, in the order of the setting EXTENSIONS", async () => {
    const first = await exporting(`{ name: 'first', migrations: new URL('migrations/', import.meta.url) }`);
    const second = await exporting(`{ name: 'second' }`);
    const third = 'test/fixtures/extensions/form-inbox/extension.ts';
    const extensions = await loadExtensions([first, second, third]);
    expect(extensions.map(({ name }) => name)).toEqual(['first', 'second', 'form-inbox']);
    expect(streamsOf(extensions).map(({ name }) => name)).toEqual(['core', 'first', 'form-inbox']);
    expect(streamsOf(extensions)[1]?.directory).toBe(`${directory}/migrations/`);
  });

  test('if EXTENSIONS contains a module that cannot be loaded, the error names the module and the reason', async () => {
    const good = await exporting(`{ name: 'good' }`);
    const missing = join(directory, 'missing.mjs');
    expect(await refusal([good, missing])).toMatch(/^The extension .*missing\.mjs cannot be loaded: /);
    expect(await refusal([good, 'no-such-package'])).toMatch(/^The extension no-such-package cannot be loaded: /);
    const throwing = await write(`throw new Error('out of\\nluck');`);
    expect(await refusal([good, throwing])).toBe(`The extension ${throwing} cannot be loaded: out of`);
    for (const text of ['', 'export default 1;', `export default { name: 'handmade' };`]) {
      expect(await refusal([await write(text)])).toMatch(/its default export is not a result of defineExtension\(\)/);
    }
  });

  test('the setting EXTENSIONS cannot contain two extensions with the same name', async () => {
    const one = await exporting(`{ name: 'one' }`);
    const other = await exporting(`{ name: 'one' }`);
    expect(await refusal([one, other])).toBe('The extension one is in EXTENSIONS twice, or another has the same name');
    expect(await refusal([one, one])).toBe('The extension one is in EXTENSIONS twice, or another has the same name');
  });
});

describe('invalid definitions', () => {
  test.each([
    [`{}`, 'without a name has an invalid definition: name'],
    [`{ name: 'Form' }`, 'Form has an invalid definition: name must have at most 40 lower-case letters'],
    [`{ name: '../api' }`, '../api has an invalid definition: name must have at most 40 lower-case letters'],
    [`{ name: 'core' }`, 'core has an invalid definition: name must not be core: the migrations of the server'],
    [`{ name: 'a', register: 'later' }`, 'a has an invalid definition: register must be a function'],
    [`{ name: 'a', settings: {} }`, 'a has an invalid definition: settings must be a z.object'],
    [`{ name: 'a', on: { 'idea.renamed': () => {} } }`, 'a has an invalid definition: on'],
    [`{ name: 'a', cron: { tidy: '* * * * *' } }`, 'a has an invalid definition: cron.tidy is not in tasks'],
    [
      `{ name: 'a', tasks: { tidy() {} }, cron: { tidy: 'daily' } }`,
      'a has an invalid definition: cron.tidy must be the five',
    ],
    [
      `{ name: 'a', tasks: { tidy() {} }, cron: { tidy: '* * * * * x\\n* * * * *' } }`,
      'a has an invalid definition: cron.tidy',
    ],
    [`{ name: 'a', tasks: { 'a:b'() {} } }`, 'a has an invalid definition: tasks.a:b'],
    [`{ name: 'a', subscribe: {} }`, 'a has an invalid definition: Unrecognized key: "subscribe"'],
  ])('the extension definition %s is rejected', async (definition, reason) => {
    expect(await refusal([await exporting(definition)])).toContain(`The extension ${reason}`);
  });
});

describe('the settings of an extension', () => {
  const environment = {
    EXT_FORM_INBOX_SECRET: formInboxSecret,
    EXT_FORM_INBOX_ACCOUNT: 'acme',
    EXT_FORM_INBOX_BOARD: 'web-app',
    EXT_FORM_INBOX_AUTHOR: 'ada@example.com',
  };

  test("an extension's settings come from environment variables that begin with EXT_ and the extension's name, and settings can have default values", async () => {
    const [extension] = await loadExtensions([fixture('form-inbox')], { ...environment, EXT_FORM_INBOX_OTHER: 'x' });
    expect(extension?.settings).toEqual({
      SECRET: formInboxSecret,
      ACCOUNT: 'acme',
      BOARD: 'web-app',
      AUTHOR: 'ada@example.com',
      KEPT_DAYS: 90,
    });
  });

  test('the error for missing or invalid extension settings names the environment variables of these settings without their values', async () => {
    const wrong = { ...environment, EXT_FORM_INBOX_SECRET: 'short', EXT_FORM_INBOX_BOARD: '' };
    const message = await refusal([fixture('form-inbox')], wrong);
    expect(message).toBe(
      'The extension form-inbox has invalid settings: EXT_FORM_INBOX_SECRET must have 32 characters; EXT_FORM_INBOX_BOARD must be the slug of a board',
    );
  });

  test("the server can load the migrations of an extension without the extension's settings", async () => {
    const [extension] = await loadExtensions([fixture('form-inbox')]);
    expect(extension?.migrations).toMatchObject({ name: 'form-inbox' });
  });
});
