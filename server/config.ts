import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { buckets } from '../contract/limits.ts';

const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.int().min(min).max(max));

/** Of more than 24 days timers make a millisecond, and PostgreSQL takes no more either. */
const dayMs = 86_400_000;

const flag = z.enum(['0', '1', 'true', 'false']).transform(value => value === '1' || value === 'true');

/** Addresses and CIDRs with commas between, each as ipaddr.js has it: an address and the length of its prefix. */
const cidrs = z
  .string()
  .default('')
  .transform(value => value.split(',').map(part => part.trim()))
  .transform(parts => parts.filter(part => part !== ''))
  .refine(parts => parts.every(isCidr), 'must be CIDRs such as 10.1.0.0/16, with commas between')
  .transform(parts => parts.map(part => ipaddr.parseCIDR(withPrefixLength(part))));

function isCidr(text: string): boolean {
  return ipaddr.isValidCIDR(text) || ipaddr.isValid(text);
}

function withPrefixLength(text: string): string {
  if (text.includes('/')) return text;
  return `${text}/${ipaddr.parse(text).kind() === 'ipv4' ? 32 : 128}`;
}

/** Words with commas between. */
const list = z
  .string()
  .default('')
  .transform(value => value.split(',').map(part => part.trim()))
  .transform(parts => parts.filter(part => part !== ''));

/** Origins, each as a browser writes it, or * for every one. */
const origins = list.refine(parts => parts.every(part => part === '*' || isOrigin(part)), {
  error: 'must be origins such as https://app.example.com, with commas between, or *',
});

function isOrigin(text: string): boolean {
  return /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const httpUrl = z.url({ protocol: /^https?$/ }).transform(url => url.replace(/\/+$/, ''));

/** An origin as a browser writes it. Behind a path neither pages nor cookies nor clients of OAuth would find their way. */
const publicOrigin = z
  .string()
  .refine(isPublicOrigin, 'must be an origin such as https://ideas.example.com, without a path')
  .transform(text => new URL(text).origin);

function isPublicOrigin(text: string): boolean {
  const url = URL.parse(text.replace(/\/+$/, ''));
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
}

/** The length of the application key. */
const appKeyBytes = 32;

/** Every setting of the server: the name of its environment variable, its form, its default and what it does. */
export const settings = z.object({
  NODE_ENV: z
    .string()
    .optional()
    .describe(
      'production: the server refuses to start while APP_KEY or DATABASE_URL is unset, or the key or a password is weak.',
    ),
  HOST: z.string().default('127.0.0.1').describe('The address to listen on; 0.0.0.0 for every interface.'),
  PORT: wholeNumber(0, 65_535).default(3000).describe('The port to listen on; 0 takes a free one.'),
  REQUEST_TIMEOUT_MS: wholeNumber(1, dayMs)
    .default(30_000)
    .describe('How long a request may take to arrive, its body included. A slower one gets 408.'),
  MAX_CONNECTIONS: wholeNumber(1, 1_000_000)
    .default(2000)
    .describe('Open connections of clients at most. The server closes any further connection at once.'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe('A PostgreSQL 14 or newer. Without it the server starts its own in DATA_DIR.'),
  DATA_DIR: z.string().default('.data').describe('Where the embedded PostgreSQL keeps its data.'),
  APP_KEY: z
    .string()
    .transform(value => Buffer.from(value, 'base64'))
    .refine(key => key.length === appKeyBytes, 'must be 32 bytes in base64')
    .optional()
    .describe(
      'The key that encrypts secrets in the database: 32 random bytes in base64. Without it one is made and kept as app.key in DATA_DIR; servers that share a database must share it.',
    ),
  BASE_URL: publicOrigin
    .optional()
    .describe(
      'The origin at which people and programs reach the server, without a path. By default http://localhost and the port. Clients of OAuth are given it, and connect at no other address. Where it is set, forms of pages at another address are refused.',
    ),
  IDEA_URL: z
    .string()
    .default('{base_url}/b/{board}/ideas/{id}')
    .refine(template => template.includes('{id}'), 'must contain {id}')
    .describe(
      'Where a person finds an idea, with {base_url}, {board} and {id} in it. By default the page of a public board.',
    ),
  DEMO: flag
    .optional()
    .describe('1: put demo data into an empty database. On by default with the embedded PostgreSQL.'),
  DATABASE_POOL_SIZE: wholeNumber(2, 1000).default(16).describe('Connections to PostgreSQL at most.'),
  DATABASE_CONNECT_TIMEOUT_MS: wholeNumber(1, dayMs)
    .default(3000)
    .describe('How long a request waits for a connection.'),
  DATABASE_STATEMENT_TIMEOUT_MS: wholeNumber(1, dayMs).default(10_000).describe('How long one statement may run.'),
  TRUST_PROXY: z
    .string()
    .default('')
    .transform(value => (value === '' ? false : value === 'true' ? true : value.split(',').map(part => part.trim())))
    .describe('Proxies whose X-Forwarded-For is believed: addresses or CIDRs with commas between, or true for all.'),
  CORS_ORIGINS: origins.describe(
    'Origins whose pages a browser lets use the Agent API, such as https://app.example.com, with commas between; * for every one. Without it none may. A page shows its token to whoever reads it.',
  ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The least severe log lines that are written.'),
  AUDIT_LOG: z
    .string()
    .default('stdout')
    .describe(
      'Where the audit log is written: stdout, or a file, which is appended to and opened anew on SIGHUP. See docs/audit-log.md.',
    ),
  RATE_LIMIT_READ: wholeNumber(0)
    .default(buckets['apitoken:read'].limit)
    .describe('Requests a minute of one token in the bucket apitoken:read.'),
  RATE_LIMIT_WRITE: wholeNumber(0)
    .default(buckets['apitoken:write'].limit)
    .describe('Requests an hour of one token in the bucket apitoken:write.'),
  RATE_LIMIT_IP: wholeNumber(0).default(600).describe('Requests a minute of one client address, /health aside.'),
  RATE_LIMIT_SIGN_IN_IP: wholeNumber(0)
    .default(30)
    .describe('Failed sign-ins of one client network in 15 minutes, and links to set a password that it asks for.'),
  RATE_LIMIT_SIGN_IN_ACCOUNT: wholeNumber(0)
    .default(10)
    .describe(
      'Failed sign-ins with one e-mail address in 15 minutes, from wherever; a browser in which its owner has signed in before has as many of its own.',
    ),
  RATE_LIMIT_SIGN_IN_SUCCESS: wholeNumber(0)
    .default(60)
    .describe('Successful sign-ins with one e-mail address in 15 minutes, from wherever.'),
  RATE_LIMIT_PASSWORD_LINK: wholeNumber(0)
    .default(5)
    .describe(
      'Links to set a password that are asked for with one e-mail address in an hour, and links to confirm an address that one person asks for, or that go to one address.',
    ),
  RATE_LIMIT_INVITATIONS: wholeNumber(0).default(20).describe('Invitations that one person makes in an hour.'),
  RATE_LIMIT_INVITATIONS_ACCOUNT: wholeNumber(0)
    .default(200)
    .describe('Invitations to one account in a day, by whoever makes them.'),
  RATE_LIMIT_INVITATIONS_ADDRESS: wholeNumber(0)
    .default(5)
    .describe('Invitations of one e-mail address to one account in a day.'),
  RATE_LIMIT_OAUTH_CLIENT: wholeNumber(0)
    .default(60)
    .describe(
      'Clients of OAuth that one client network registers in an hour, with the documents that are fetched for it; it may ask for consent ten times as often.',
    ),
  SESSION_IDLE_MINUTES: wholeNumber(2, 525_600)
    .default(720)
    .describe('After how long without use a person is signed out of the pages.'),
  SESSION_MAX_HOURS: wholeNumber(1, 8_760)
    .default(168)
    .describe('After how long a person has to sign in again, however much they use the pages.'),
  PLANS_WITHOUT_AGENT_API: z
    .string()
    .default('')
    .transform(value => value.split(',').map(plan => plan.trim()))
    .refine(plans => !plans.includes('community'), 'must not name community, which always has the Agent API')
    .describe('Plans whose accounts may not use the Agent API, with commas between.'),
  WEBHOOK_ALLOWED_CIDRS: cidrs.describe(
    'Addresses inside a network that webhooks and chat posts may reach all the same: CIDRs with commas between.',
  ),
  WORKER: flag.default(true).describe('0: leave the jobs to other processes, such as npm run worker.'),
  WORKER_CONCURRENCY: wholeNumber(1, 1000)
    .default(16)
    .describe(
      'How many webhooks of one account a process sends at once. It sends twice as many of all accounts together. Mail and other jobs have as many slots of their own.',
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'The mail server that notifications, notices, invitations and links to set a password are sent through: smtp:// or smtps://. Without it no mail is sent.',
    ),
  MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*[^\s@<]@[^\s@]+$/, 'must be an address, or Name <address>')
    .optional()
    .describe('The sender of mail: an address, or Name <address>. By default no-reply at the host of BASE_URL.'),
  SENTRY_DSN: httpUrl
    .refine(url => new URL(url).username !== '', 'must be the DSN of a project, such as https://key@host/1')
    .optional()
    .describe('Where failures are reported in the protocol of Sentry, beside the log. Unset: nowhere.'),
  SENTRY_ENVIRONMENT: z.string().default('production').describe('The environment that the reports name.'),
  METRICS_PORT: wholeNumber(0, 65_535)
    .optional()
    .describe('Where GET /metrics answers in the text format of Prometheus, without authentication. Unset: nowhere.'),
  METRICS_HOST: z.string().default('127.0.0.1').describe('The address on which METRICS_PORT listens.'),
  METRICS_ALLOWED_HOSTS: list.describe(
    'Names by which METRICS_PORT may be asked, such as the name of a service, with commas between. localhost and addresses always may. Others are refused, because a web page can make its own name lead to the port.',
  ),
  ACCOUNT_DELETION_GRACE_DAYS: wholeNumber(0, 36_500)
    .default(30)
    .describe('How long an account stays after its deletion was scheduled; then npm run cleanup erases it.'),
  USER_DELETION_GRACE_HOURS: wholeNumber(0, 876_000)
    .default(48)
    .describe('How long a user stays after they asked for deletion; then npm run cleanup erases them.'),
  EXTENSIONS: list.describe(
    'The modules of extensions with commas between: paths of files, or packages. The same for servers, workers and the command line.',
  ),
  TOLERATED_MIGRATIONS: list.describe(
    'Migrations of a newer version with which this one may start all the same, with commas between, such as core/0042_add_a_column.sql. See docs/upgrading.md.',
  ),
  READINESS_CRON_MAX_AGE_MINUTES: wholeNumber(1)
    .default(120)
    .describe("The oldest that the cron's last heartbeat may be for /ready to answer 200."),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 600_000)
    .default(5000)
    .describe(
      'How long a server goes on serving after SIGTERM while /ready already answers 503: longer than a balancer takes to notice. SIGINT does not wait.',
    ),
  SHUTDOWN_TIMEOUT_MS: wholeNumber(1, 600_000)
    .default(20_000)
    .describe('How long requests and jobs in flight may take after that; then the process ends with status 1.'),
});

type Settings = z.output<typeof settings>;

export interface Config extends Settings {
  BASE_URL: string;
  /** Whether the settings name BASE_URL. The default is a guess, which need not be how browsers reach the server. */
  isBaseUrlSet: boolean;
}

export class ConfigError extends Error {}

/** Reads the settings from the environment; an unset variable and an empty one are the same. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = settings.safeParse(given);
  if (result.success) {
    const { BASE_URL, PORT } = result.data;
    return { ...result.data, BASE_URL: BASE_URL ?? `http://localhost:${PORT}`, isBaseUrlSet: BASE_URL !== undefined };
  }
  const problems = result.error.issues.map(issue => `${issue.path.join('.')} ${issue.message}`);
  throw new ConfigError(`Settings are wrong: ${problems.join('; ')}`);
}
