import { type DestinationStream, type Logger, pino } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import { type AuditLog, buildAuditLog } from './audit-log.ts';
import type { Redactor } from './redactor.ts';
import { standardOutput } from './standard-output.ts';

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

/**
 * The size, in bytes, of the buffer for lines that the server cannot write to the file, for example because the disk is
 * full.
 */
const maxKeptBytes = 1024 * 1024;
const complaintIntervalMs = 60_000;

/**
 * Opens the file of the audit log. The server writes each line before it answers the request, so a killed process loses
 * only counts of repeated entries. On SIGHUP, the server closes the file and opens its path again, for log rotation. If
 * the file cannot be written, the server logs an error and continues.
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
