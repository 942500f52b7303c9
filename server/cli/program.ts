import { Command, CommanderError } from 'commander';
import { BackupError } from '../backup/backup-error.ts';
import { ConfigError } from '../config.ts';
import { EmbeddedPostgresError } from '../database/embedded/postgres-program.ts';
import { MigrationError } from '../database/migration-files.ts';
import { AdministrationError } from '../domain/administration.ts';
import { ExtensionError } from '../extensions/extension-error.ts';
import { buildEnvironmentRedactor } from '../observability/redactor.ts';
import { reportFatal } from '../observability/report-fatal.ts';
import { addAccountCommands } from './account.ts';
import { CliError } from './administer.ts';
import { addBackupCommand } from './backup.ts';
import { addBoardCommands } from './board.ts';
import { addChatCommands } from './chat.ts';
import { addCleanUpCommand } from './cleanup.ts';
import { invocation } from './command.ts';
import { addDistributeCommand } from './distribute.ts';
import { addDoctorCommand } from './doctor.ts';
import { addExportCommand } from './export.ts';
import { addFollowerCommands, addIdeaCommands } from './idea.ts';
import { addImportCommand } from './import.ts';
import { addInitCommand } from './init.ts';
import { addInvitationCommands, addMemberCommands } from './member.ts';
import { addMigrateCommand } from './migrate.ts';
import { addNotificationCommands } from './notification.ts';
import { oneLine } from './output.ts';
import { addRestoreCommand } from './restore.ts';
import { addStatusCommands } from './status.ts';
import { addTagCommands } from './tag.ts';
import { addTokenCommands } from './token.ts';
import { addUpgradeCommand } from './upgrade.ts';
import { addUsageCommand } from './usage.ts';
import { addUserCommands } from './user.ts';
import { addWebhookCommands } from './webhook.ts';

/**
 * Builds the operator's command line. For invalid arguments it throws an error. By default, commander would exit the
 * process.
 */
export function buildProgram(): Command {
  const program = new Command(invocation)
    .description(
      'Administers an Idea-Board installation: the database at DATABASE_URL, or the one in DATA_DIR. A server may run or not.',
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
  addUsageCommand(program, 'usage');
  addInitCommand(program, 'init');
  addMigrateCommand(program, 'migrate');
  addBackupCommand(program, 'backup');
  addRestoreCommand(program, 'restore');
  addUpgradeCommand(program, 'upgrade');
  addExportCommand(program, 'export');
  addImportCommand(program, 'import');
  addCleanUpCommand(program, 'cleanup');
  addDistributeCommand(program, 'distribute');
  addDoctorCommand(program, 'doctor');
  return program;
}

/** The errors whose message is meant for the operator. All other errors are reported as internal errors. */
const refusals = [
  AdministrationError,
  BackupError,
  CliError,
  ConfigError,
  EmbeddedPostgresError,
  ExtensionError,
  MigrationError,
];

/**
 * Runs the command that the process's arguments name. The exit code is 1 if the command fails, and 2 if the arguments
 * are invalid.
 */
export async function runProgram(): Promise<void> {
  // Ignores a closed pipe: a program that reads the output, such as head, may close the pipe early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // Reports that the output is lost, such as a new token that a full disk could not store.
    process.exitCode = report(new CliError(`The output cannot be written: ${error.message}`));
  });
  try {
    await buildProgram().parseAsync();
  } catch (error) {
    const status = report(error);
    process.exitCode ||= status;
    if (!isExpected(error)) await reportFatal(error, process.env, 'cli');
  }
}

function report(error: unknown): number {
  // Commander has already printed the message of its own error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${oneLine(isExpected(error) ? message : `Internal error: ${withoutSecrets(error)}`)}\n`);
  return 1;
}

function isExpected(error: unknown): boolean {
  return error instanceof CommanderError || refusals.some(kind => error instanceof kind);
}

function withoutSecrets(error: unknown): string {
  const fault = buildEnvironmentRedactor(process.env).value(error);
  return (fault as { message?: string } | undefined)?.message ?? String(fault);
}
