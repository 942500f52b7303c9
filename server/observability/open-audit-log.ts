import { type DestinationStream, type Logger, pino } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import { type AuditLog, buildAuditLog } from './audit-log.ts';
import type { Redactor } from './redactor.ts';
import { standardOutput } from './standard-output.ts';

/** Opens the audit log where AUDIT_LOG says, until it is closed. */
export function openAuditLog(
  { AUDIT_LOG }: Pick<Config, 'AUDIT_LOG'>,
  redactor: Redactor,
  logger: Pick<Logger, 'error'>,
): { audit: AuditLog; close(): void } {
  const output = AUDIT_LOG === 'stdout' ? { destination: standardOutput(), close() {} } : openFile(AUDIT_LOG, logger);
  const audit = buildAuditLog({ destination: output.destination, redactor });
  return {
    audit,
    close() {
      audit.close();
      output.close();
    },
  };
}

/** What is kept for a file that cannot be written now, such as on a full disk. */
const maxKeptBytes = 1024 * 1024;
const complaintIntervalMs = 60_000;

/**
 * A line is in the file before what caused it is answered, so that a kill loses none. SIGHUP opens the file anew under
 * its name, for those who rotate logs. A file that cannot be written keeps nobody from working: the log says so.
 */
function openFile(path: string, logger: Pick<Logger, 'error'>): { destination: DestinationStream; close(): void } {
  const file = open(path);
  let complainedAt = Number.NEGATIVE_INFINITY;
  const complain = (err: unknown) => {
    if (performance.now() - complainedAt < complaintIntervalMs) return;
    complainedAt = performance.now();
    logger.error({ err, file: path }, 'the audit log cannot be written');
  };
  file.on('error', complain);
  file.on('drop', () => complain(new Error('Lines of the audit log are lost')));
  const reopen = () => {
    try {
      file.reopen();
    } catch (error) {
      complain(error);
    }
  };
  process.on('SIGHUP', reopen);
  return {
    destination: file,
    close() {
      process.off('SIGHUP', reopen);
      file.end();
    },
  };
}

function open(path: string) {
  try {
    return pino.destination({ dest: path, sync: true, append: true, mode: 0o600, maxLength: maxKeptBytes });
  } catch (error) {
    throw new ConfigError(`AUDIT_LOG cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
