import type { Config } from '../../config.ts';
import { DatabaseUrlError, requireUsableUrls } from '../../database/pooler.ts';
import { capitalize } from '../../domain/capitalize.ts';
import { error, type Finding, ok, warning } from './finding.ts';

type DatabaseConfig = Pick<
  Config,
  'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'DATABASE_READ_URL' | 'DATABASE_CONNECT_TIMEOUT_MS'
>;

/** Checks that the connection pooler and the read replica lead to the same database, as the server does at its start. */
export async function diagnoseDatabaseUrls(config: DatabaseConfig): Promise<Finding[]> {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, DATABASE_READ_URL: readUrl } = config;
  if (url === undefined) return [];
  const findings: Finding[] = [];
  const warn = (problem: string) => findings.push(warning(capitalize(problem), 'See docs/deployment.md'));
  try {
    await requireUsableUrls({ url, directUrl, readUrl }, config.DATABASE_CONNECT_TIMEOUT_MS, warn);
  } catch (failure) {
    const remedy =
      failure instanceof DatabaseUrlError
        ? 'The server does not start with these URLs. See docs/deployment.md'
        : 'Check DATABASE_URL and DATABASE_DIRECT_URL, and that PostgreSQL and the pooler run';
    return [...findings, error((failure as Error).message, remedy)];
  }
  const isMore = directUrl !== undefined || readUrl !== undefined;
  return findings.length === 0 && isMore ? [ok('The URLs of the database lead to the same database')] : findings;
}
