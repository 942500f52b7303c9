import { z } from 'zod';
import { buckets } from '../contract/limits.ts';

const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.int().min(min).max(max));

const flag = z.enum(['0', '1', 'true', 'false']).transform(value => value === '1' || value === 'true');

/** Every setting of the server: the name of its environment variable, its form, its default and what it does. */
export const settings = z.object({
  HOST: z.string().default('127.0.0.1').describe('The address to listen on; 0.0.0.0 for every interface.'),
  PORT: wholeNumber(0, 65_535).default(3000).describe('The port to listen on; 0 takes a free one.'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe('A PostgreSQL 14 or newer. Without it the server starts its own in DATA_DIR.'),
  DATA_DIR: z.string().default('.data').describe('Where the embedded PostgreSQL keeps its data.'),
  DEMO: flag
    .optional()
    .describe('1: put demo data into an empty database. On by default with the embedded PostgreSQL.'),
  DATABASE_POOL_SIZE: wholeNumber(2, 1000).default(16).describe('Connections to PostgreSQL at most.'),
  DATABASE_CONNECT_TIMEOUT_MS: wholeNumber(1).default(3000).describe('How long a request waits for a connection.'),
  DATABASE_STATEMENT_TIMEOUT_MS: wholeNumber(1).default(10_000).describe('How long one statement may run.'),
  TRUST_PROXY: z
    .string()
    .default('')
    .transform(value => (value === '' ? false : value === 'true' ? true : value.split(',').map(part => part.trim())))
    .describe('Proxies whose X-Forwarded-For is believed: addresses or CIDRs with commas between, or true for all.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The least severe log lines that are written.'),
  RATE_LIMIT_READ: wholeNumber(0)
    .default(buckets['apitoken:read'].limit)
    .describe('Requests a minute of one token in the bucket apitoken:read.'),
  RATE_LIMIT_WRITE: wholeNumber(0)
    .default(buckets['apitoken:write'].limit)
    .describe('Requests an hour of one token in the bucket apitoken:write.'),
  RATE_LIMIT_IP: wholeNumber(0).default(600).describe('Requests a minute of one client address, /health aside.'),
  PLANS_WITHOUT_AGENT_API: z
    .string()
    .default('')
    .transform(value => value.split(',').map(plan => plan.trim()))
    .refine(plans => !plans.includes('community'), 'must not name community, which always has the Agent API')
    .describe('Plans whose accounts may not use the Agent API, with commas between.'),
  READINESS_CRON_MAX_AGE_MINUTES: wholeNumber(1)
    .default(120)
    .describe("The oldest that the cron's last heartbeat may be for /ready to answer 200."),
});

export type Config = z.output<typeof settings>;

export class ConfigError extends Error {}

/** Reads the settings from the environment; an unset variable and an empty one are the same. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = settings.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues.map(issue => `${issue.path.join('.')} ${issue.message}`);
  throw new ConfigError(`Settings are wrong: ${problems.join('; ')}`);
}
