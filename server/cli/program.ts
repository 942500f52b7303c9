import { Command } from 'commander';
import { addAccountCommands } from './account.ts';
import { addBoardCommands } from './board.ts';
import { addChatCommands } from './chat.ts';
import { addCleanUpCommand } from './cleanup.ts';
import { invocation } from './command.ts';
import { addDoctorCommand } from './doctor.ts';
import { addFollowerCommands } from './follower.ts';
import { addIdeaCommands } from './idea.ts';
import { addInvitationCommands } from './invitation.ts';
import { addMemberCommands } from './member.ts';
import { addMigrateCommand } from './migrate.ts';
import { addNotificationCommands } from './notification.ts';
import { addStatusCommands } from './status.ts';
import { addTagCommands } from './tag.ts';
import { addTokenCommands } from './token.ts';
import { addUserCommands } from './user.ts';
import { addWebhookCommands } from './webhook.ts';

/** The operator's command line: every noun with its verbs. It throws where commander by itself would exit. */
export function buildProgram(): Command {
  const program = new Command(invocation)
    .description(
      'Administers an Idea-Board installation: the database of DATABASE_URL, else the one in DATA_DIR, whether a server runs or not.',
    )
    .exitOverride()
    .showSuggestionAfterError(false);
  addAccountCommands(program);
  addUserCommands(program);
  addMemberCommands(program);
  addInvitationCommands(program);
  addBoardCommands(program);
  addStatusCommands(program);
  addTagCommands(program);
  addTokenCommands(program);
  addIdeaCommands(program);
  addFollowerCommands(program);
  addNotificationCommands(program);
  addWebhookCommands(program);
  addChatCommands(program);
  addMigrateCommand(program);
  addCleanUpCommand(program);
  addDoctorCommand(program);
  return program;
}
