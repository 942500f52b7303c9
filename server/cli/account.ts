import { createAccount, updateAccount } from '../domain/accounts/edit-account.ts';
import { type AccountView, listAccounts, readAccount } from '../domain/accounts/find-account.ts';
import type { Administration } from '../domain/administration.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../domain/erasure/request-deletion.ts';
import { chooseAccount, inAccount } from './choose.ts';
import { given, noun, operation, optional, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

export const addAccountCommands = noun('account', 'customers: each has members and boards of its own', {
  create: operation({
    description: 'Creates an account with its owner, who is found by the address or created with the name.',
    examples: ['account create --name "Acme" --slug acme --owner-email ada@example.com --owner-name "Ada"'],
    input: {
      name: required('<name>', 'what it is called'),
      slug: required('<slug>', 'its short name: lower-case letters, digits and hyphens'),
      plan: optional('<plan>', 'its plan (default: community)'),
      ownerEmail: required('<email>', 'the address of the owner'),
      ownerName: optional('<name>', 'the name of the owner, for one who has to be created'),
    },
    async run(admin, { ownerEmail, ownerName, ...input }) {
      const owner = { email: ownerEmail, ...given({ name: ownerName }) };
      const account = await createAccount(admin, { ...input, owner });
      return readAccount(admin, account.id);
    },
    text: formatAccount,
  }),
  list: operation({
    description: 'Lists the accounts.',
    examples: ['account list --json'],
    input: {},
    run: admin => listAccounts(admin),
    text: rows =>
      formatTable(
        rows,
        'slug',
        'name',
        'plan',
        'owners',
        ['boards', 'board_count'],
        ['members', 'member_count'],
        'deletion_scheduled_at',
      ),
  }),
  update: operation({
    description: 'Changes an account. What is not given stays as it is.',
    examples: ['account update --account acme --plan business'],
    input: {
      ...inAccount,
      name: optional('<name>', 'another name'),
      slug: optional('<slug>', 'another slug'),
      plan: optional('<plan>', 'another plan'),
    },
    async run(admin, { account: slug, ...changes }) {
      const account = await chooseAccount(admin, slug);
      await updateAccount(admin, account, changes);
      return readAccount(admin, account.id);
    },
    text: formatAccount,
  }),
  'schedule-deletion': operation({
    description:
      'Starts the grace after which cleanup erases an account, with everything in it. Until then it works as ever.',
    examples: ['account schedule-deletion --account acme'],
    input: inAccount,
    run: changing(scheduleAccountDeletion),
    text: formatAccount,
  }),
  'cancel-deletion': operation({
    description: 'Keeps an account after all, unless its erasure has begun.',
    examples: ['account cancel-deletion --account acme'],
    input: inAccount,
    run: changing(cancelAccountDeletion),
    text: formatAccount,
  }),
});

function changing(change: (admin: Administration, accountId: number) => Promise<void>) {
  return async (admin: Administration, named: { account?: string }) => {
    const { id } = await chooseAccount(admin, named.account);
    await change(admin, id);
    return readAccount(admin, id);
  };
}

function formatAccount(account: AccountView): string {
  return formatFacts(account, { board_count: 'boards', member_count: 'members' });
}
