import type { Command } from 'commander';
import { type InvitationView, listInvitations, requireInvitation } from '../domain/invitations/list-invitations.ts';
import { revokeInvitation } from '../domain/invitations/revoke-invitation.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, limitOption, parsePositive } from './command.ts';
import { formatTable, type OutputOptions, print } from './output.ts';

interface InvitationOptions extends OutputOptions {
  account?: string;
}

interface ListOptions extends InvitationOptions {
  limit: number;
}

export function addInvitationCommands(program: Command) {
  const noun = program
    .command('invitation')
    .description('who is invited to an account and has not joined yet; member invite invites');

  addVerb(noun, 'list', 'Lists the open invitations, the last one first.', 'invitation list --account acme')
    .addOption(accountOption())
    .addOption(limitOption())
    .action(list);

  addVerb(noun, 'revoke', 'Takes an invitation back: its link works no more.', 'invitation revoke 7 --account acme')
    .argument('<id>', 'the id of the invitation, as invitation list shows it', parsePositive)
    .addOption(accountOption())
    .action(revoke);
}

async function list({ account: slug, limit, ...output }: ListOptions) {
  const invitations = await administer(async admin => {
    const { id } = await chooseAccount(admin, slug);
    return listInvitations(admin, id, { limit });
  });
  print(output, invitations, formatInvitations);
}

async function revoke(id: number, { account: slug, ...output }: InvitationOptions) {
  const invitation = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    const before = await requireInvitation(admin, account.id, id);
    await revokeInvitation(admin, account.id, id);
    return before;
  });
  print(output, invitation, ({ email }) => `Revoked the invitation of ${email}.`);
}

function formatInvitations(invitations: InvitationView[]): string {
  return formatTable(invitations, {
    ID: invitation => invitation.id,
    EMAIL: invitation => invitation.email,
    ROLE: invitation => invitation.role,
    BY: invitation => invitation.inviter,
    DELIVERY: invitation => invitation.delivery,
    EXPIRES: invitation => invitation.expires_at,
  });
}
