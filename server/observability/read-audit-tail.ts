import { open, stat } from 'node:fs/promises';
import { z } from 'zod';
import type { Config } from '../config.ts';

export type AuditLine = z.output<typeof auditLine>;

/**
 * A line of the audit log. Its other fields depend on the kind of entry and on the version of the server that wrote the
 * line.
 */
const auditLine = z.looseObject({ log: z.literal('audit'), time: z.iso.datetime(), event: z.string() });

/** The maximum number of bytes to read at the end of the file. 50 entries usually need a tenth of this size. */
const mostBytes = 256 * 1024;

/** Reads the last entries of the audit log, newest first. Returns undefined if AUDIT_LOG is not an ordinary file. */
export async function readAuditTail(
  { AUDIT_LOG }: Pick<Config, 'AUDIT_LOG'>,
  mostEntries: number,
  isWanted: (entry: AuditLine) => boolean,
): Promise<AuditLine[] | undefined> {
  // Only an ordinary file has an end. Opening a pipe would wait for its writer.
  if (AUDIT_LOG === 'stdout' || !(await stat(AUDIT_LOG)).isFile()) return undefined;
  const file = await open(AUDIT_LOG);
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - mostBytes);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(mostBytes), position: start });
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .reverse()
      .flatMap(line => parseAuditLine(line) ?? [])
      .filter(isWanted)
      .slice(0, mostEntries);
  } finally {
    await file.close();
  }
}

/**
 * Returns undefined for a line that is not a complete audit entry. For example, the read may have begun in the middle
 * of the first line.
 */
export function parseAuditLine(line: string): AuditLine | undefined {
  try {
    return auditLine.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
