import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTag, createWorld, issueToken } from '../helpers/fixtures.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { compilingMs, createProject, type FreshProject, installFromRepository, repository } from './packed.ts';
import { findRuntimes, findTypeScript5 } from './runtimes.ts';

const run = promisify(execFile);
const [readme = '', serverReadme = ''] = ['client/README.md', 'README.md'].map(file =>
  readFileSync(join(repository, file), 'utf8'),
);
const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

/** Returns the code blocks of the README in the given languages, joined into one program. */
function blocksOf(...languages: string[]): string {
  return blocksIn(readme, ...languages);
}

function blocksIn(text: string, ...languages: string[]): string {
  const blocks = text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...blocks].flatMap(([, language = '', text = '']) => (languages.includes(language) ? [text] : [])).join('\n');
}

let server: TestServer;
let project: FreshProject;

beforeAll(async () => {
  server = await startServer();
  project = await createProject('client', 'contract');
  // The README installs these packages from a registry. The test links them instead.
  await installFromRepository(project, 'zod', '@ts-rest/core', '@types/node', 'undici-types');
  await project.write('tour.js', blocksOf('js'));
  await project.write('tour.ts', blocksOf('js', 'ts'));
}, compilingMs);

afterAll(async () => {
  await project.remove();
  await server.close();
});

/**
 * Runs a README program until the program prints its line "Nothing was sent." Then sends two webhooks to the program
 * and ends the program.
 */
async function runTour(command: string, args: string[]): Promise<string[]> {
  const world = await createWorld(server);
  await createTag(server, world.accountId, world.boardId);
  const { token } = await issueToken(server, world, 'moderate');
  const port = await freePort();
  const child = spawn(command, args, {
    cwd: project.directory,
    env: {
      PATH: process.env.PATH,
      IDEA_BOARD_URL: server.baseUrl,
      IDEA_BOARD_TOKEN: token,
      WEBHOOK_SECRET: secret,
      PORT: String(port),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  // The test waits for "close" rather than "exit", because output may still arrive after the exit.
  const ended = once(child, 'close');
  const isThrough = new Promise<void>(resolve => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        printed += chunk;
        if (/^Nothing was sent\. .*\n/m.test(printed)) resolve();
      });
    }
  });
  await Promise.race([ended, isThrough]);
  expect(child.exitCode, printed).toBeNull();
  const answered = [
    await sendEvent(port, secret),
    await sendEvent(port, `whsec_${Buffer.alloc(32).toString('base64')}`),
  ];
  expect(answered).toEqual(['204 ', '400 signature_mismatch']);
  child.kill();
  await ended;
  return printed.trimEnd().split('\n');
}

async function sendEvent(port: number, by: string): Promise<string> {
  const body = JSON.stringify({
    type: 'comment.created',
    timestamp: '',
    data: { comment: { author: { name: 'Ada' } } },
  });
  const now = new Date();
  const response = await fetch(`http://127.0.0.1:${port}`, {
    method: 'POST',
    headers: {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(by).sign('evt_1', now, body),
    },
    body,
  });
  return `${response.status} ${await response.text()}`;
}

let lastPort = 10_000 + (process.pid % 1000) * 20;

/**
 * Returns a free port for a program that needs a fixed port. The port is below the ephemeral range, so that no
 * connection of another test takes the port before the program listens.
 */
async function freePort(): Promise<number> {
  lastPort += 1;
  const port = lastPort;
  const probe = createServer().listen(port);
  const isFree = await once(probe, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  probe.close();
  await once(probe, 'close');
  return port;
}

const printedInBoth = [
  /^Idea \d+ is open$/,
  /^moderate on board-\w+: 6 statuses, 1 tags$/,
  /^Score 1$/,
  /^Unmerged from Dark mode$/,
  /^planned, with 1 comment$/,
  /^2 on the page, and no more$/,
  /^1 for Dark mode$/,
  /^Somebody says: OLED screens would profit most\.$/,
  /^The token A token voted up$/,
  /^A page of 2$/,
  /^The best of 2 ideas: Dark mode$/,
  /^2 ideas changed since then$/,
  /^The idea with 1 comment and 1 vote$/,
  /^The board is unchanged$/,
  /^Dark mode from the cache, with status 304$/,
  /^voteIdea failed with 404 not_found: .* Request id: /,
  /^The same idea: true, a replay: true$/,
  /^aborted$/,
  /^200, request true, apitoken:read has \d+ left$/,
  /^getToken: 200 \(nightly-report\)$/,
  /^Nothing was sent\. query\.per_page: /,
  /^Followed: Weekly report$/,
  /^Ada commented$/,
];

const printedInTypeScript = [/^body\.title: Must not be empty$/, /^Requested: score 1$/];

describe('the code of the README', () => {
  test.concurrent.each(findRuntimes().filter(({ name }) => name.startsWith('Node')))(
    'the JavaScript examples in the README of the client print the expected output with the runtime $name',
    async ({ command, args }) => {
      const printed = await runTour(command, [...args, 'tour.js']);
      for (const line of printedInBoth) expect(printed).toContainEqual(expect.stringMatching(line));
      expect(printed).toHaveLength(printedInBoth.length);
    },
  );

  test.concurrent('the TypeScript examples in the README of the client print the expected output', async () => {
    const printed = await runTour(process.execPath, ['--disable-warning=ExperimentalWarning', 'tour.ts']);
    for (const line of [...printedInBoth, ...printedInTypeScript]) {
      expect(printed).toContainEqual(expect.stringMatching(line));
    }
    expect(printed).toHaveLength(printedInBoth.length + printedInTypeScript.length);
  });

  const typescript7 = join(repository, 'node_modules/typescript/bin/tsc');
  const typescript5 = findTypeScript5();
  const onNode = { module: 'nodenext', types: ['node'], lib: ['es2022'] };
  const bundled = { module: 'esnext', moduleResolution: 'bundler', types: ['node'], lib: ['es2022'] };
  // The option skipDefaultLibCheck skips only the declaration files of TypeScript itself.
  const page = { moduleResolution: 'bundler', types: [], lib: ['es2022', 'dom'], skipDefaultLibCheck: true };
  const inPage = { module: 'esnext', ...page };

  const whole = blocksOf('js', 'ts');
  // Ends `program` before the last chapter of the README. Only this chapter needs ts-rest, whose type declarations have
  // errors.
  const program = whole.slice(0, whole.indexOf("import { validateRequest } from '@idea-board/contract/validation'"));
  const start = program.slice(0, program.indexOf('\nconst { statuses')).replaceAll(/process\.env\.\w+ \?\? /g, '');
  const ofServer = blocksIn(serverReadme, 'ts');
  const forgetful = whole.replace("case 'board_frozen':", '');
  const careless = blocksOf('js').replace("{ value: 'up' }", "{ value: 'sideways' }");

  let compiled: Promise<Record<string, string>> | undefined;
  const compiledByVersion7 = () => {
    compiled ??= compile([typescript7, '--singleThreaded'], {
      bundled: { options: { ...bundled, skipLibCheck: false }, programs: { program } },
      inPage: { options: { ...inPage, skipLibCheck: false }, programs: { start } },
      onNode: { options: { ...onNode, skipLibCheck: false }, programs: { ofServer } },
      withTsRest: { options: { ...onNode, skipLibCheck: true }, programs: { whole, forgetful, careless } },
    });
    return compiled;
  };

  test.concurrent('code in the client README compiles in strict TypeScript 7', { timeout: compilingMs }, async () => {
    expect(Object.keys(await compiledByVersion7()).sort()).toEqual(['careless.ts', 'forgetful.ts']);
  });

  // TypeScript 5 is slow, so this test compiles fewer programs and skips the type declarations of Node's libraries.
  test.concurrent('code in the client README compiles in strict TypeScript 5', {
    timeout: compilingMs,
  }, async () => {
    const said = await compile([typescript5], {
      bundled5: { options: { ...bundled, skipLibCheck: true }, programs: { program5: program } },
      inPage5: { options: { ...inPage, skipLibCheck: false }, programs: { start5: start } },
    });
    expect(said).toEqual({});
  });

  test.concurrent('the TypeScript examples in the README of the server compile', { timeout: compilingMs }, async () => {
    expect(ofServer).toContain("from '@idea-board/client'");
    expect(await compiledByVersion7()).not.toHaveProperty(['ofServer.ts']);
  });

  test.concurrent("TypeScript rejects code that omits one of the client's error keys in a `switch` or passes an invalid value to the client", {
    timeout: compilingMs,
  }, async () => {
    expect(await compiledByVersion7()).toMatchObject({
      'forgetful.ts': expect.stringMatching(/does not satisfy the expected type 'never'/),
      'careless.ts': expect.stringMatching(/Type '"sideways"' is not assignable/),
    });
  });
});

interface Project {
  options: object;
  /** The source code of the programs by file name. */
  programs: Record<string, string>;
}

/** Returns the compile errors of several projects by file. One run of the compiler reads the libraries only once. */
async function compile([compiler = '', ...flags]: string[], projects: Record<string, Project>) {
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
  for (const [name, { options, programs }] of Object.entries(projects)) {
    const files = Object.keys(programs).map(file => `${file}.ts`);
    for (const [file, text] of Object.entries(programs)) await project.write(`${file}.ts`, text);
    const compilerOptions = { ...strict, target: 'es2022', ...options };
    await project.write(`${name}.json`, JSON.stringify({ compilerOptions, files }));
  }
  const args = [compiler, '--build', ...flags, ...Object.keys(projects).map(name => `${name}.json`)];
  const { stdout } = await run(process.execPath, args, { cwd: project.directory }).catch(
    error => error as { stdout: string },
  );
  const said: Record<string, string> = {};
  let about = '';
  for (const line of stdout.split('\n').filter(text => text !== '')) {
    // Only the first line of a compile error begins with the file name.
    about = /^(\S+)\(\d+,\d+\): /.exec(line)?.[1] ?? about;
    said[about] = `${said[about] ?? ''}${line}\n`;
  }
  return said;
}
