import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { baseUrl, type Deployment } from './deployment.ts';
import type { Journal } from './journal.ts';
import { startLoad } from './load.ts';
import { diagnose, restartUnderLoad, waitForMore } from './prove.ts';

const processes = ['server-1', 'server-2', 'worker'] as const;

/** Loses the database and restores it, then upgrades, exports and imports. */
export async function rehearse(deployment: Deployment, token: string, journal: Journal) {
  const { step } = journal;
  let created: number[] = [];
  await step(
    'Back up the database under load, after a killed backup',
    ['npm run cli -- backup backup   # killed with SIGKILL', 'npm run cli -- backup backup'],
    async () => {
      const load = startLoad(baseUrl, token);
      await waitForMore(load.created);
      const files = () => readdirSync(deployment.directory);
      const isWriting = () => files().some(name => name.includes('.idea-board-new-'));
      const killed = await killInTheMiddle(deployment, ['backup', 'backup'], isWriting);
      if (files().includes('backup')) throw new Error('The killed backup left a directory that looks complete');
      created = [...load.created];
      const output = await deployment.cliOnHost('backup', 'backup');
      await waitForMore(load.created);
      return `${killed}\n${output}\nRequests: ${await load.stop()}.`;
    },
  );
  await step('Kill all processes, and delete the data of PostgreSQL', [], async () => {
    for (const name of processes) await deployment.stop(name, 'SIGKILL');
    await deployment.losePostgres();
    return '';
  });
  await step(
    'Restore the backup into an empty database, after a killed restore',
    ['npm run cli -- restore backup --verify   # killed with SIGKILL', 'npm run cli -- restore backup --verify'],
    async () => {
      const restore = ['restore', 'backup', '--verify'];
      const isRestoring = () => deployment.hasSession('idea-board restore');
      const killed = await killInTheMiddle(deployment, restore, isRestoring);
      return `${killed}\n${await deployment.cliOnHost(...restore)}`;
    },
  );
  await step(
    'Start everything again, and read the ideas from before the backup',
    ['docker compose up --detach'],
    async () => {
      for (const name of processes) await deployment.start(name);
      for (const id of created) await readIdea(id, token);
      return `All ${created.length} ideas are there.`;
    },
  );
  await diagnose(deployment, journal);
  await step(
    'Rehearse an upgrade, and migrate',
    ['npm run cli -- upgrade --rehearse', 'npm run cli -- migrate --dry-run', 'npm run cli -- migrate'],
    () => runAll(deployment, [['upgrade', '--rehearse'], ['migrate', '--dry-run'], ['migrate']]),
  );
  await restartUnderLoad(deployment, token, journal);
  await copyAccount(deployment, journal);
}

async function copyAccount(deployment: Deployment, { step }: Journal) {
  const commands = [
    ['export', '--account', 'acme', '--out', 'acme.jsonl'],
    ['account', 'create', '--name', 'Copy', '--slug', 'copy', '--owner-email', 'ada@example.com'],
    ['import', 'acme.jsonl', '--account', 'copy', '--with-roles'],
    ['export', '--account', 'copy', '--out', 'copy.jsonl'],
  ];
  const shown = commands.map(args => `npm run cli -- ${args.join(' ')}`);
  await step('Export the account, import it into an empty account, and export that account', shown, async () => {
    const output = await runAll(deployment, commands);
    const [one, other] = ['acme', 'copy'].map(name => readFileSync(join(deployment.directory, `${name}.jsonl`)));
    if (!one || !other?.equals(one)) throw new Error('The two archives differ');
    return `${output}Both archives have the same ${one.length} bytes.`;
  });
}

async function runAll(deployment: Deployment, commands: string[][]): Promise<string> {
  let output = '';
  for (const args of commands) output += await deployment.cliOnHost(...args);
  return output;
}

/** Starts a command, and kills it when its work has begun. Throws if the command ends earlier. */
async function killInTheMiddle(
  deployment: Deployment,
  command: string[],
  hasBegun: () => boolean | Promise<boolean>,
): Promise<string> {
  const child = deployment.spawnOnHost(...command);
  const ended = once(child, 'exit');
  while (child.exitCode === null && !(await hasBegun())) await delay(5);
  child.kill('SIGKILL');
  const [status] = await ended;
  if (status !== null) throw new Error(`${command.join(' ')} ended with ${status} before it could be killed`);
  return 'The script killed the first command while it worked.';
}

async function readIdea(id: number, token: string) {
  const response = await fetch(`${baseUrl}/api/v1/ideas/${id}`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`The idea ${id} answers ${response.status}`);
  await response.arrayBuffer();
}
