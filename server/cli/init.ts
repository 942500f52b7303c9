import { randomBytes } from 'node:crypto';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { settings } from '../config.ts';
import { CliError } from './administer.ts';
import { argument, optional, verb, withDefault } from './command.ts';
import { type OutputOptions, print } from './output.ts';

interface Installation {
  directory: string;
  baseUrl: string;
  image?: string;
}

export const addInitCommand = verb({
  description:
    'Makes a directory for Docker Compose with compose.yaml, and with .env, which contains new secrets. Overwrites no file.',
  examples: ['init ideas', 'init ideas --base-url https://ideas.example.com'],
  input: {
    directory: argument('<directory>', 'the directory to make'),
    baseUrl: withDefault(
      '<origin>',
      'the public origin of the server; with https, the proxy gets a certificate for its host name',
      'http://localhost:8080',
      { parse: parseOrigin },
    ),
    image: optional('<name>', 'the container image, instead of the published image of this version'),
  },
  perform: run,
});

async function run({ directory, baseUrl, image }: Installation, output: OutputOptions) {
  const files = {
    'compose.yaml': await writeCompose(baseUrl, image ?? (await publishedImage())),
    '.env': writeEnvironment(baseUrl),
  };
  const paths = Object.keys(files).map(name => join(directory, name));
  for (const path of paths) await requireAbsent(path);
  try {
    await mkdir(directory, { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(directory, name), text, { mode: name === '.env' ? 0o600 : 0o644, flag: 'wx' });
    }
  } catch (error) {
    throw new CliError(`The directory cannot be made: ${(error as Error).message}`, { cause: error });
  }
  print(output, { files: paths, next_steps: nextSteps(directory) }, formatSteps);
}

function parseOrigin(text: string): string {
  const { data, error } = settings.shape.BASE_URL.safeParse(text);
  if (data === undefined) throw new InvalidArgumentError(`It ${error?.issues[0]?.message}.`);
  return data;
}

async function requireAbsent(path: string) {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (exists) throw new CliError(`${path} exists: name another directory, or remove the file`);
}

async function publishedImage(): Promise<string> {
  const { name, version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  return `ghcr.io/${name}/${name}:${version}`;
}

/** Adapts compose.yaml of this version to the image, and to the host name and the port of BASE_URL. */
async function writeCompose(baseUrl: string, image: string): Promise<string> {
  const { protocol, hostname, port } = new URL(baseUrl);
  const isSecure = protocol === 'https:';
  const compose = await readFile(new URL('../../compose.yaml', import.meta.url), 'utf8');
  const ports = isSecure ? `["80:80", "${port || 443}:443"]` : `["${port || 80}:80"]`;
  return compose
    .replace(/^(#.*\n)+\n/, '')
    .replace('image: idea-board\n', () => `image: ${JSON.stringify(image)}\n`)
    .replace(/\["\$\{PORT:-8080\}:80"\]/, ports)
    .replace(/^ {6}:80 \{$/m, isSecure ? `      ${hostname} {` : '$&');
}

function writeEnvironment(baseUrl: string): string {
  return `# The settings of compose.yaml. Keep a copy of this file in a safe place: without APP_KEY, nobody can decrypt the
# secrets in the database.
POSTGRES_PASSWORD=${randomBytes(24).toString('hex')}
APP_KEY=${randomBytes(32).toString('base64')}
BASE_URL=${baseUrl}

# The mail server, such as smtps://user:password@mail.example.com, and the sender. Without them, the server sends no
# mail.
SMTP_URL=
MAIL_FROM=
`;
}

function nextSteps(directory: string) {
  const cli = 'docker compose run --rm migrate node server/cli/main.ts';
  return [
    { task: `Store a copy of ${join(directory, '.env')} in a safe place`, commands: [] },
    {
      task: 'Start PostgreSQL, two servers, a worker and the proxy',
      commands: [`cd ${directory}`, 'docker compose up --detach'],
    },
    {
      task: 'Create an account, and a link with which its owner chooses a password',
      commands: [
        `${cli} account create --name Acme --slug acme --owner-email ada@example.com --owner-name 'Ada Osei'`,
        `${cli} user password-link --email ada@example.com`,
      ],
    },
    { task: 'Check the installation', commands: [`${cli} doctor`] },
  ];
}

function formatSteps({ files, next_steps }: { files: string[]; next_steps: ReturnType<typeof nextSteps> }): string {
  const steps = next_steps.flatMap(({ task, commands }, index) => [
    `${index + 1}. ${task}${commands.length > 0 ? ':' : '.'}`,
    ...commands.map(command => `     ${command}`),
  ]);
  return [`Made ${files.join(' and ')}.`, '', ...steps].join('\n');
}
