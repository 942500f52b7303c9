import type { Command } from 'commander';
import { createAccount } from '../domain/accounts/create-account.ts';
import { type AccountView, listAccounts, readAccount } from '../domain/accounts/list-accounts.ts';
import { updateAccount } from '../domain/accounts/update-account.ts';
import type { Administration } from '../domain/administration.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../domain/erasure/schedule-account-deletion.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, given } from './command.ts';
import { formatFacts, formatTable, type OutputOptions, print } from './output.ts';

interface CreateOptions extends OutputOptions {
  name: string;
  slug: string;
  plan?: string;
  ownerEmail: string;
  ownerName?: string;
}

interface UpdateOptions extends OutputOptions {
  account?: string;
  name?: string;
  slug?: string;
  plan?: string;
}

interface DeletionOptions extends OutputOptions {
  account?: string;
}

export function addAccountCommands(program: Command) {
  const noun = program.command('account').description('customers: each has members and boards of its own');

  addVerb(
    noun,
    'create',
    'Creates an account with its owner, who is found by the address or created with the name.',
    'account create --name "Acme" --slug acme --owner-email ada@example.com --owner-name "Ada"',
  )
    .requiredOption('--name <name>', 'what it is called')
    .requiredOption('--slug <slug>', 'its short name: lower-case letters, digits and hyphens')
    .option('--plan <plan>', 'its plan (default: community)')
    .requiredOption('--owner-email <email>', 'the address of the owner')
    .option('--owner-name <name>', 'the name of the owner, for one who has to be created')
    .action(create);

  addVerb(noun, 'list', 'Lists the accounts.', 'account list --json').action(list);

  addVerb(
    noun,
    'update',
    'Changes an account. What is not given stays as it is.',
    'account update --account acme --plan business',
  )
    .addOption(accountOption())
    .option('--name <name>', 'another name')
    .option('--slug <slug>', 'another slug')
    .option('--plan <plan>', 'another plan')
    .action(update);

  addVerb(
    noun,
    'schedule-deletion',
    'Starts the grace after which cleanup erases an account, with everything in it. Until then it works as ever.',
    'account schedule-deletion --account acme',
  )
    .addOption(accountOption())
    .action((options: DeletionOptions) => changeDeletion(options, scheduleAccountDeletion));

  addVerb(
    noun,
    'cancel-deletion',
    'Keeps an account after all, unless its erasure has begun.',
    'account cancel-deletion --account acme',
  )
    .addOption(accountOption())
    .action((options: DeletionOptions) => changeDeletion(options, cancelAccountDeletion));
}

async function create({ name, slug, plan, ownerEmail, ownerName, ...output }: CreateOptions) {
  const view = await administer(async admin => {
    const owner = { email: ownerEmail, ...given({ name: ownerName }) };
    const account = await createAccount(admin, { name, slug, owner, ...given({ plan }) });
    return readAccount(admin, account.id);
  });
  print(output, view, formatAccount);
}

async function list(output: OutputOptions) {
  print(output, await administer(listAccounts), accounts =>
    formatTable(accounts, {
      SLUG: account => account.slug,
      NAME: account => account.name,
      PLAN: account => account.plan,
      OWNERS: account => account.owners.join(', '),
      BOARDS: account => account.board_count,
      MEMBERS: account => account.member_count,
      'DELETION SCHEDULED': account => account.deletion_scheduled_at,
    }),
  );
}

async function update({ account: slug, ...options }: UpdateOptions) {
  const { json, ...changes } = options;
  const view = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    await updateAccount(admin, account, changes);
    return readAccount(admin, account.id);
  });
  print(options, view, formatAccount);
}

async function changeDeletion(
  { account: slug, ...output }: DeletionOptions,
  change: (admin: Administration, accountId: number) => Promise<void>,
) {
  const view = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    await change(admin, account.id);
    return readAccount(admin, account.id);
  });
  print(output, view, formatAccount);
}

function formatAccount(account: AccountView): string {
  return formatFacts({
    id: account.id,
    slug: account.slug,
    name: account.name,
    plan: account.plan,
    owners: account.owners.join(', '),
    boards: account.board_count,
    members: account.member_count,
    'deletion scheduled': account.deletion_scheduled_at,
    'erasure began': account.erasure_began_at,
    created: account.created_at,
  });
}
