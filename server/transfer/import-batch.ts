import type { Transaction } from '../database/database.ts';
import type { AuditTrail } from '../domain/administration.ts';
import type { ExternalKind } from '../entities/external-id.ts';
import type { ArchiveRecord, Origin } from './archive.ts';

/** A value that an importer has read, with its place in the input, such as `line 12`. */
export interface Placed {
  place: string;
  value: unknown;
  /** The reason why the import must refuse the value. */
  problem?: string;
}

export interface PlacedRecord<One extends ArchiveRecord = ArchiveRecord> {
  place: string;
  record: One;
  /** The id of the new row of an idea, comment or note. Undefined if an earlier import has written the record. */
  rowId?: number | undefined;
}

export interface ImportOptions {
  accountId: number;
  now: Date;
  /** Whether people get the roles of the archive. Otherwise, new members get the role `member`. */
  withRoles: boolean;
  /** Whether the import shortens texts that are too long. Otherwise it refuses their records. */
  shortens: boolean;
  /** Whether the import rolls back all its changes at the end. */
  isDryRun: boolean;
}

/** The rows that an import has found by their external ids. */
export type SeenRows = Map<ExternalKind, Map<string, number>>;

/** The context in which the importer of one type writes a batch of records. */
export interface ImportBatch extends Pick<Transaction, 'db' | 'query'> {
  readonly options: ImportOptions & Origin;
  readonly seen: SeenRows;
  readonly audit: AuditTrail;
  /** Refuses one record. The other records of the batch are still written. */
  refuse(place: string, reason: string): void;
  warn(place: string, reason: string): void;
}

export function idsOf(records: readonly { record: { id: string } }[]): string[] {
  return records.map(({ record }) => record.id);
}

/** The reason to refuse a record that refers to an unknown record. */
export function unknownRef(type: string, field: string, id: string): string {
  return `${type}: no record before it has the id of its ${field}, ${JSON.stringify(id)}`;
}
