import { writeFileSync } from 'node:fs';
import { Argument, Command } from 'commander';
import { installOnDebian } from './bare-debian.ts';
import { debianBase, makeDebianBase } from './debian-base.ts';
import { deploy } from './deployment.ts';
import { capture, findEngine } from './engine.ts';
import { openJournal } from './journal.ts';
import { buildImage, inspectImage, install, restartUnderLoad } from './prove.ts';
import { rehearse } from './rehearse.ts';

const page = new URL('../../docs/rehearsal.md', import.meta.url);

const program = new Command('npm run image --')
  .description(
    'Builds the image, and runs the services of compose.yaml with a real PostgreSQL and Caddy as in docs/deployment.md. Restarts them under load, and fails if a request fails. With rehearse, also loses and restores the database, upgrades, exports and imports, and writes docs/rehearsal.md. Needs Docker, Podman or Buildah, and the Debian packages postgresql and caddy. With install, installs the server without containers on a bare Debian in a chroot, with the commands of the guide.',
  )
  .addArgument(new Argument('[variant]').choices(['prove', 'rehearse', 'install']).default('prove'))
  .option('--base <image>', 'another base image than the Dockerfile; debian makes one with mmdebstrap')
  .parse();
const { base } = program.opts<{ base?: string }>();

if (program.args[0] === 'install') {
  console.log(`${installOnDebian().toFixed(0)} seconds for all commands of the guide, including the wait for /ready`);
  process.exit();
}
if (base === 'debian') makeDebianBase();
const engine = findEngine(base === 'debian' ? debianBase : base);
const journal = openJournal();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
try {
  await buildImage(engine, journal);
  const deployment = await deploy(engine);
  try {
    await inspectImage(deployment, journal);
    const token = await install(deployment, journal);
    await restartUnderLoad(deployment, token, journal);
    if (program.args[0] === 'rehearse') await rehearse(deployment, token, journal);
  } finally {
    await deployment.close();
  }
} finally {
  engine.close();
  if (program.args[0] === 'rehearse') writeFileSync(page, journal.page(introduce()));
}

function introduce(): string {
  const date = new Date().toISOString().slice(0, 10);
  return `# Rehearsal

\`npm run image -- rehearse\` wrote this page on ${date}, on Linux (${process.arch}) with these programs:

- ${engine.name}
- Caddy ${capture('caddy', 'version').split(' ')[0]}

The containers shared the network of the machine. PostgreSQL and Caddy ran outside containers. The steps show the commands of
[deployment.md](deployment.md), but the script started the containers itself. The durations depend on the machine, which
may also have run other programs.
`;
}
