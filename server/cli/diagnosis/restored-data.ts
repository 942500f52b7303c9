import type { RowComparison, SecretComparison, TallyComparison } from '../../backup/verify-database.ts';
import { invocation } from '../command.ts';
import { error, type Finding, ok } from './finding.ts';

export const createAgain = 'Create a new database, and restore the backup again';

export function findingsOfRows({ compared, differences }: RowComparison): Finding[] {
  if (differences.length === 0) return [ok(`Every table has as many rows as in the backup (${compared} tables)`)];
  return differences.map(({ table, backup, database }) =>
    error(`The table ${table} has ${database ?? 'no'} rows, and the backup has ${backup ?? 'none'}`, createAgain),
  );
}

export function findingsOfTallies({ checked, drifted, ids }: TallyComparison): Finding[] {
  if (drifted === 0) return [ok(`Every tally matches its votes (${checked} ideas)`)];
  return [
    error(
      `The tallies of ${drifted} ideas differ from their votes, such as ${ids.join(', ')}`,
      `They may have differed before the backup: see ${invocation} doctor`,
    ),
  ];
}

export function findingsOfSecrets({ total, decrypted, decrypted_in_backup }: SecretComparison): Finding[] {
  const what = `APP_KEY decrypts ${decrypted} of ${total} secrets, and ${decrypted_in_backup} at the backup`;
  return [decrypted >= decrypted_in_backup ? ok(what) : error(what, createAgain)];
}
