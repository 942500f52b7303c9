import { createAccount, updateAccount } from '../domain/accounts/edit-account.ts';
import { type AccountView, listAccounts, readAccount } from '../domain/accounts/find-account.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../domain/erasure/request-deletion.ts';
import { joinRules } from '../entities/account.ts';
import { onAccount } from './choose.ts';
import { given, noun, operation, optional, parseBoolean, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

const changeAccount = onAccount.changing((admin, { id }) => readAccount(admin, id), formatAccount);

export const addAccountCommands = noun('account', 'accounts of customers, each with its own members and boards', {
  create: operation({
    description: 'Creates an account with its owner: the user with the address, or a new one.',
    examples: ['account create --name "Acme" --slug acme --owner-email ada@example.com --owner-name "Ada"'],
    input: {
      name: required('<name>', 'the name'),
      slug: required('<slug>', 'the short name: lower-case letters, digits and hyphens'),
      plan: optional('<plan>', 'the plan (default: community)'),
      ownerEmail: required('<email>', "the owner's email address"),
      ownerName: optional('<name>', "the owner's name, required for a new user"),
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
  update: changeAccount({
    description: 'Changes an account. Omitted options stay unchanged.',
    examples: [
      'account update --account acme --plan business',
      'account update --account acme --join-rule domains --join-domains acme.com,acme.org',
    ],
    input: {
      name: optional('<name>', 'another name'),
      slug: optional('<slug>', 'another slug'),
      plan: optional('<plan>', 'another plan'),
      joinRule: optional(
        '<rule>',
        'who may join from a public board: only invited people, people with an address of the domains, or everybody who confirms an address',
        { choices: joinRules },
      ),
      joinDomains: optional<string[]>(
        '<domains>',
        'the domains for the rule domains, such as example.com,example.org',
        { parse: text => text.split(',') },
      ),
      requiresSecondFactor: optional('<yes|no>', 'whether owners and admins need two-factor sign-in', {
        parse: parseBoolean,
      }),
      requiresProvider: optional('<yes|no>', 'whether members, except owners, must sign in with a provider', {
        parse: parseBoolean,
      }),
    },
    change: updateAccount,
  }),
  'schedule-deletion': changeAccount({
    description:
      'Schedules an account with all its data for deletion. It works until the grace period ends; then cleanup erases it.',
    examples: ['account schedule-deletion --account acme'],
    change: (admin, { id }) => scheduleAccountDeletion(admin, id),
  }),
  'cancel-deletion': changeAccount({
    description: 'Cancels the deletion of an account, unless its erasure has begun.',
    examples: ['account cancel-deletion --account acme'],
    change: (admin, { id }) => cancelAccountDeletion(admin, id),
  }),
});

function formatAccount(account: AccountView): string {
  return formatFacts(account, { board_count: 'boards', member_count: 'members' });
}
