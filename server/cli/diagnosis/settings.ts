import { type Config, loadConfig, settings } from '../../config.ts';
import { findWeakSecrets } from '../../production-secrets.ts';
import { error, type Finding, ok } from './finding.ts';

/**
 * Checks the settings. The others are still good for looking at the database, with the wrong ones left at their
 * defaults; but not without knowing which database is meant.
 */
export function diagnoseSettings(environment: NodeJS.ProcessEnv): { findings: Finding[]; config: Config | undefined } {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const issues = settings.safeParse(given).error?.issues ?? [];
  if (issues.length === 0) {
    const config = loadConfig(environment);
    return { findings: [ok('The settings are valid'), ...diagnoseSecrets(config)], config };
  }

  const findings = issues.map(issue => {
    const name = String(issue.path[0]);
    return error(`The setting ${name} is wrong: ${issue.message}`, `Correct or unset it. ${meaningOf(name)}`);
  });
  const wrong = issues.map(issue => String(issue.path[0]));
  if (wrong.includes('DATABASE_URL') || wrong.includes('DATA_DIR')) return { findings, config: undefined };
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.includes(name)));
  return { findings, config: loadConfig(rest) };
}

/** A server in production does not start with these; elsewhere they are as they may be. */
function diagnoseSecrets(config: Config): Finding[] {
  if (config.NODE_ENV !== 'production') return [];
  return findWeakSecrets(config).map(weak =>
    error(`In production, ${weak}`, 'Set it anew: the server refuses to start otherwise'),
  );
}

function meaningOf(name: string): string {
  const shape: Record<string, { description?: string | undefined }> = settings.shape;
  return shape[name]?.description ?? '';
}
