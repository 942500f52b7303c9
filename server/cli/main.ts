import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { EmbeddedPostgresError } from '../database/embedded-postgres-error.ts';
import { MigrationError } from '../database/migrator.ts';
import { AdministrationError } from '../domain/administration.ts';
import { addAccountCommands } from './account.ts';
import { addBoardCommands } from './board.ts';
import { CliError } from './cli-error.ts';
import { invocation } from './command.ts';
import { addDoctorCommand } from './doctor.ts';
import { addIdeaCommands } from './idea.ts';
import { addMemberCommands } from './member.ts';
import { addMigrateCommand } from './migrate.ts';
import { oneLine } from './output.ts';
import { addStatusCommands } from './status.ts';
import { addTagCommands } from './tag.ts';
import { addTokenCommands } from './token.ts';
import { addUserCommands } from './user.ts';

/** The operator's command line: exits with 1 when a command is refused or fails, with 2 when it is not understood. */
const program = new Command(invocation)
  .description(
    'Administers an Idea-Board installation: the database of DATABASE_URL, else the one in DATA_DIR, whether a server runs or not.',
  )
  .exitOverride()
  .showSuggestionAfterError(false);

addAccountCommands(program);
addUserCommands(program);
addMemberCommands(program);
addBoardCommands(program);
addStatusCommands(program);
addTagCommands(program);
addTokenCommands(program);
addIdeaCommands(program);
addMigrateCommand(program);
addDoctorCommand(program);

// A reader such as head may close its end early: what is left unread is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  // Commander has printed its own message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${oneLine(isExpected(error) ? message : `Internal error: ${message}`)}\n`);
  return 1;
}

const expected = [AdministrationError, CliError, ConfigError, EmbeddedPostgresError, MigrationError];

function isExpected(error: unknown): boolean {
  return expected.some(kind => error instanceof kind);
}
