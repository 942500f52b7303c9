import { type Command, Option } from 'commander';
import { createAccount } from '../domain/accounts/create-account.ts';
import { type AccountView, listAccounts, readAccount } from '../domain/accounts/list-accounts.ts';
import { updateAccount } from '../domain/accounts/update-account.ts';
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
  scheduleDeletion?: true;
  cancelDeletion?: true;
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
    'account update --account acme --schedule-deletion',
  )
    .addOption(accountOption())
    .option('--name <name>', 'another name')
    .option('--slug <slug>', 'another slug')
    .option('--plan <plan>', 'another plan')
    .option('--schedule-deletion', 'delete the account after the grace period')
    .addOption(new Option('--cancel-deletion', 'keep it after all').conflicts('scheduleDeletion'))
    .action(update);
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

async function update({ account: slug, scheduleDeletion, cancelDeletion, ...options }: UpdateOptions) {
  const { json, ...changes } = options;
  const view = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    const isDeletionScheduled = scheduleDeletion ? true : cancelDeletion ? false : undefined;
    await updateAccount(admin, account, { ...changes, ...given({ isDeletionScheduled }) });
    return readAccount(admin, account.id);
  });
  print(options, view, formatAccount);
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
    created: account.created_at,
  });
}
