import { coreStream, type MigrationStream } from '../database/migration-files.ts';
import type { Extension } from './extension.ts';

/** The migrations of a server with extensions: its own first, which theirs may refer to. */
export function streamsOf(extensions: readonly Extension[]): MigrationStream[] {
  return [coreStream, ...extensions.flatMap(({ migrations }) => migrations ?? [])];
}
