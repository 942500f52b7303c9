import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import { error, type Finding, ok, warning } from './finding.ts';

/** With less free space, a busy server may fill the disk within a day. */
const minFreeBytes = 1024 ** 3;

/**
 * Checks the disks that this machine writes to: the disk of the embedded PostgreSQL, and the disk of the audit log. A
 * database connection cannot tell how full the disk of another PostgreSQL is.
 */
export async function diagnoseDisks(
  { DATABASE_URL, DATA_DIR, AUDIT_LOG }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR' | 'AUDIT_LOG'>,
  minimum = minFreeBytes,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const ofData = DATABASE_URL === undefined ? await readFreeBytes(DATA_DIR) : undefined;
  // If DATA_DIR is missing, reachDatabase() in doctor.ts reports this.
  if (ofData !== undefined) findings.push(judge(DATA_DIR, ofData, minimum));
  if (AUDIT_LOG === 'stdout') return findings;

  const directory = dirname(AUDIT_LOG);
  const ofLog = await readFreeBytes(directory);
  const missing = error(`The directory ${directory} of AUDIT_LOG does not exist`, 'Create it, or correct AUDIT_LOG');
  return [...findings, ofLog === undefined ? missing : judge(directory, ofLog, minimum)];
}

/** Returns undefined if the directory does not exist. */
async function readFreeBytes(directory: string): Promise<number | undefined> {
  const disk = await statfs(directory).catch(() => undefined);
  return disk && disk.bavail * disk.bsize;
}

function judge(directory: string, freeBytes: number, minimum: number): Finding {
  const space = `${Math.floor(freeBytes / 1024 ** 2)} MB`;
  if (freeBytes >= minimum) return ok(`The disk of ${directory} has ${space} left`);
  return warning(`The disk of ${directory} has only ${space} left`, 'Free space on the disk, or use a larger one');
}
