import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { buckets } from '../contract/limits.ts';

const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.int().min(min).max(max));

/**
 * One day in milliseconds, the maximum of a timeout setting. Timers and PostgreSQL support at most 24 days. A timer
 * with a longer delay would fire after one millisecond.
 */
const dayMs = 86_400_000;

const flag = z.enum(['0', '1', 'true', 'false']).transform(value => value === '1' || value === 'true');

/** A list of values that are separated by commas. */
const list = z
  .string()
  .default('')
  .transform(value => value.split(',').map(part => part.trim()))
  .transform(parts => parts.filter(part => part !== ''));

/** A list of pairs such as name=value, as OpenTelemetry writes it. Names and values can be percent-encoded. */
const pairs = list
  .refine(parts => parts.every(isPair), 'must be pairs such as name=value, separated by commas')
  .transform(parts => Object.fromEntries(parts.map(readPair)) as Record<string, string>);

function isPair(text: string): boolean {
  try {
    decodeURIComponent(text);
  } catch {
    return false;
  }
  return /^[^=]+=/.test(text);
}

function readPair(text: string): [string, string] {
  const at = text.indexOf('=');
  return [decodeURIComponent(text.slice(0, at).trim()), decodeURIComponent(text.slice(at + 1).trim())];
}

/** The names of networks that Fastify accepts as proxies. */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal'];

/** A list of IP addresses and CIDRs, parsed to pairs of an IP address and a prefix length for ipaddr.js. */
const cidrs = list
  .refine(parts => parts.every(isCidr), 'must be CIDRs such as 10.1.0.0/16, separated by commas')
  .transform(parts => parts.map(part => ipaddr.parseCIDR(withPrefixLength(part))));

function isCidr(text: string): boolean {
  return ipaddr.isValidCIDR(text) || ipaddr.isValid(text);
}

function withPrefixLength(text: string): string {
  if (text.includes('/')) return text;
  return `${text}/${ipaddr.parse(text).kind() === 'ipv4' ? 32 : 128}`;
}

/** A list of origins as browsers write them, or * for all origins. */
const origins = list.refine(parts => parts.every(part => part === '*' || isOrigin(part)), {
  error: 'must be origins such as https://app.example.com, separated by commas, or *',
});

function isOrigin(text: string): boolean {
  return /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const httpUrl = z.url({ protocol: /^https?$/ }).transform(url => url.replace(/\/+$/, ''));

/**
 * The origin of this server as browsers write it, without a path. Pages, cookies and OAuth clients would not work below
 * a path.
 */
const publicOrigin = z
  .string()
  .refine(isPublicOrigin, 'must be an origin such as https://ideas.example.com, without a path')
  .transform(text => new URL(text).origin);

function isPublicOrigin(text: string): boolean {
  const url = URL.parse(text.replace(/\/+$/, ''));
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
}

const appKeyBytes = 32;

/** The default of IDEA_URL: the page of an idea on this server. */
export const ownIdeaUrl = '{base_url}/b/{board}/ideas/{id}';

/** All settings of the server. Each has an environment variable, a schema, a default and a description. */
export const settings = z.object({
  NODE_ENV: z
    .string()
    .optional()
    .describe(
      'With production, the server refuses to start if APP_KEY or DATABASE_URL is unset. The server also refuses to start if APP_KEY or the password in DATABASE_URL is weak.',
    ),
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'The IP address that the server listens on. With 0.0.0.0, the server listens on every network interface.',
    ),
  PORT: wholeNumber(0, 65_535)
    .default(3000)
    .describe('The port that the server listens on. With 0, the server picks a free port.'),
  REQUEST_TIMEOUT_MS: wholeNumber(1, dayMs)
    .default(30_000)
    .describe(
      'The time in milliseconds that a client may take to send a complete request. The server answers a slower request with 408.',
    ),
  MAX_CONNECTIONS: wholeNumber(1, 1_000_000)
    .default(2000)
    .describe(
      'The maximum number of open client connections of one server process. The server closes each further connection at once. METRICS_PORT has its own limit.',
    ),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe(
      'The URL of a PostgreSQL 15 or newer. If the variable is unset, the server starts an embedded PostgreSQL.',
    ),
  DATABASE_DIRECT_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe(
      'The URL of the same database without the connection pooler. Set this variable if DATABASE_URL leads to PgBouncer in transaction mode. Migrations, the job queue, commands and waits for events use this URL. See docs/deployment.md.',
    ),
  DATABASE_READ_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe(
      'The URL of a read replica: a streaming standby of the PostgreSQL at DATABASE_URL. The server reads lists and public pages from the replica. See docs/deployment.md.',
    ),
  DATABASE_READ_MAX_LAG_MS: wholeNumber(1_000, 600_000)
    .default(2_000)
    .describe(
      'The maximum age of the data of the replica, in milliseconds. If the replica is further behind, the server reads from DATABASE_URL.',
    ),
  DATA_DIR: z
    .string()
    .default('.data')
    .describe('The directory for the data of the embedded PostgreSQL, and for the file app.key if APP_KEY is unset.'),
  APP_KEY: z
    .string()
    .transform(value => Buffer.from(value, 'base64'))
    .refine(key => key.length === appKeyBytes, 'must be 32 bytes in base64')
    .optional()
    .describe(
      'The key that encrypts secrets in the database: 32 random bytes in base64. Servers with the same database need the same key. If the variable is unset, the server creates a key in the file app.key in DATA_DIR.',
    ),
  BASE_URL: publicOrigin
    .optional()
    .describe(
      'The public origin of the server, without a path. The default is http://localhost with the port of the server. OAuth clients can connect only to this origin. If BASE_URL is set, the server refuses forms from other origins.',
    ),
  IDEA_URL: z
    .string()
    .default(ownIdeaUrl)
    .refine(template => template.includes('{id}'), 'must contain {id}')
    .describe(
      "The URL of an idea's page, for links in mails, in chat messages and in the Agent API. The server replaces {base_url} by BASE_URL, {board} by the board's slug, and {id} by the idea's id. The default is the page of the idea on this server.",
    ),
  DEMO: flag
    .optional()
    .describe(
      'With 1, the server creates a demo account in a database without accounts. The default is 1 with the embedded PostgreSQL, and 0 if DATABASE_URL is set.',
    ),
  DATABASE_POOL_SIZE: wholeNumber(2, 1000)
    .default(16)
    .describe(
      'The maximum number of connections to PostgreSQL in the connection pool of one server or worker process. The process also opens connections outside this pool: see docs/deployment.md.',
    ),
  DATABASE_CONNECT_TIMEOUT_MS: wholeNumber(1, dayMs)
    .default(3000)
    .describe('How many milliseconds a request waits at most for a connection to PostgreSQL.'),
  DATABASE_STATEMENT_TIMEOUT_MS: wholeNumber(1, dayMs)
    .default(10_000)
    .describe('The time limit for one SQL statement, in milliseconds. Migrations have no time limit.'),
  TRUST_PROXY: z
    .string()
    .default('')
    .transform(value => (value === '' ? false : value === 'true' ? true : value.split(',').map(part => part.trim())))
    .refine(
      value => typeof value === 'boolean' || value.every(part => isCidr(part) || namedNetworks.includes(part)),
      'must be IP addresses or CIDRs, separated by commas, or true',
    )
    .describe(
      'The proxies that may name the IP address of a client in the header X-Forwarded-For: IP addresses or CIDRs, separated by commas. With true, every sender may name an IP address. By default, the server ignores the header.',
    ),
  CORS_ORIGINS: origins.describe(
    'The origins of the web pages that can use the Agent API, such as https://app.example.com, separated by commas. With *, the server allows every origin. By default, the server allows no origin. Every visitor of such a page can read the token that the page uses.',
  ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe(
      'The lowest severity of the lines in the log: trace, debug, info, warn, error or fatal. With silent, the log is empty.',
    ),
  AUDIT_LOG: z
    .string()
    .default('stdout')
    .describe(
      'The output of the audit log: stdout, or the path of a file. The server appends to the file and reopens it on SIGHUP. See docs/audit-log.md.',
    ),
  RATE_LIMIT_READ: wholeNumber(0)
    .default(buckets['apitoken:read'].limit)
    .describe('The maximum number of read requests with one token in a minute: the rate limit apitoken:read.'),
  RATE_LIMIT_WRITE: wholeNumber(0)
    .default(buckets['apitoken:write'].limit)
    .describe('The maximum number of write requests with one token in an hour: the rate limit apitoken:write.'),
  RATE_LIMIT_MEMBER: wholeNumber(0)
    .default(120)
    .describe(
      'The maximum number of votes, ideas, comments, changes of comments and follows that one signed-in person can send in an hour.',
    ),
  RATE_LIMIT_IP: wholeNumber(0)
    .default(600)
    .describe(
      'The maximum number of requests from one client IP address in a minute. A /64 network of IPv6 counts as one client IP address. Requests to /health do not count.',
    ),
  RATE_LIMIT_SIGN_IN_IP: wholeNumber(0)
    .default(30)
    .describe(
      'The maximum number of failed sign-ins from one client IP address in 15 minutes. Failed sign-ins with identity providers, and requests for password links and for sign-in links, have separate limits of the same size.',
    ),
  RATE_LIMIT_SIGN_IN_ACCOUNT: wholeNumber(0)
    .default(10)
    .describe(
      'The maximum number of failed sign-ins with one e-mail address in 15 minutes, from all clients together. Each browser where the same person has signed in before has a separate limit of the same size.',
    ),
  RATE_LIMIT_SIGN_IN_SUCCESS: wholeNumber(0)
    .default(60)
    .describe('The maximum number of successful sign-ins with one e-mail address in 15 minutes.'),
  RATE_LIMIT_SECOND_FACTOR: wholeNumber(0)
    .default(20)
    .describe(
      'The maximum number of wrong codes of one user with two-factor sign-in in a day, from all clients together. Each browser where the same person has entered a right code has a separate limit of the same size, and all these browsers together have five times this limit. Wrong codes from one client IP address also have a limit of the size of RATE_LIMIT_SIGN_IN_IP.',
    ),
  RATE_LIMIT_PASSWORD_LINK: wholeNumber(0)
    .default(5)
    .describe(
      'The maximum number of password links for one e-mail address in an hour. Sign-in links have a separate limit of the same size. Links to confirm a new e-mail address have two limits of the same size: one for each person, and one for each new e-mail address.',
    ),
  RATE_LIMIT_INVITATIONS: wholeNumber(0)
    .default(20)
    .describe('The maximum number of invitations by one person in an hour.'),
  RATE_LIMIT_INVITATIONS_ACCOUNT: wholeNumber(0)
    .default(200)
    .describe('The maximum number of invitations to one account in a day, by all members together.'),
  RATE_LIMIT_INVITATIONS_ADDRESS: wholeNumber(0)
    .default(5)
    .describe('The maximum number of invitations of one e-mail address to one account in a day.'),
  RATE_LIMIT_UNCONFIRMED_ADDRESSES: wholeNumber(0)
    .default(1_000)
    .describe(
      'The maximum number of new people of one account in a day who get mails at an address that they have not confirmed to this server. The address comes from a sign-in provider of the account or from an embedding token. Further new people can sign in, but get no mails.',
    ),
  RATE_LIMIT_OAUTH_CLIENT: wholeNumber(0)
    .default(60)
    .describe(
      'The maximum number of OAuth clients that one IP address can register in an hour. If a client names the URL of a client document instead, fetching the document counts as a registration. The limit for authorization requests is ten times as high.',
    ),
  SESSION_IDLE_MINUTES: wholeNumber(2, 525_600)
    .default(720)
    .describe('A browser session ends after this number of minutes without use.'),
  SESSION_MAX_HOURS: wholeNumber(1, 8_760)
    .default(168)
    .describe('A browser session ends this number of hours after the sign-in, even if the session is in use.'),
  PLANS_WITHOUT_AGENT_API: list
    .refine(plans => !plans.includes('community'), 'must not name community, which always has the Agent API')
    .describe('The names of the plans whose accounts cannot use the Agent API, separated by commas.'),
  WEBHOOK_ALLOWED_CIDRS: cidrs.describe(
    'The networks without public IP addresses that the server may send webhooks and chat messages to: CIDRs, separated by commas. The server may also fetch the documents of OAuth clients from these networks, and send requests to OpenID Connect providers in these networks.',
  ),
  WORKER: flag
    .default(true)
    .describe(
      'With 0, the server process runs no jobs. In this case, run the jobs in a separate process with npm run worker.',
    ),
  WORKER_CONCURRENCY: wholeNumber(1, 1000)
    .default(16)
    .describe(
      'The maximum number of webhooks of one account that a process sends in parallel. For the webhooks of all accounts together, the limit is twice as high. For other jobs, such as mails, a process has a separate limit of the same size. For chat messages, the limit is fixed.',
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'The URL of the mail server, with smtp:// or smtps://. If the variable is unset, the server sends no mail.',
    ),
  MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*[^\s@<]@[^\s@]+$/, 'must be an address, or Name <address>')
    .optional()
    .describe(
      'The sender of mails: an e-mail address, or Name <address>. The default is the e-mail address no-reply at the host of BASE_URL.',
    ),
  SENTRY_DSN: httpUrl
    .refine(url => new URL(url).username !== '', 'must be the DSN of a project, such as https://key@host/1')
    .optional()
    .describe(
      'The DSN of a project in Sentry or a compatible service. The server and the command line report their failures to this project. By default, they only log failures.',
    ),
  SENTRY_ENVIRONMENT: z
    .string()
    .default('production')
    .describe('The name of the environment in the reports to SENTRY_DSN.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'The URL of an OpenTelemetry collector, such as http://localhost:4318. The server sends its traces to this collector, as JSON, to the path /v1/traces. If the variable is unset, the server traces nothing. See docs/tracing.md.',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: pairs.describe(
    'The headers of the requests to OTEL_EXPORTER_OTLP_ENDPOINT, such as x-api-key=secret, separated by commas.',
  ),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe(
      'The name of this service in traces. The default is service.name of OTEL_RESOURCE_ATTRIBUTES, or else idea-board.',
    ),
  OTEL_RESOURCE_ATTRIBUTES: pairs.describe(
    'The attributes of every trace, such as deployment.environment.name=staging, separated by commas.',
  ),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe(
      'Decides which traces the server records: always_on, always_off or traceidratio. With the prefix parentbased_, the client decides for each request with a traceparent header.',
    ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
    .transform(Number)
    .default(1)
    .describe('The part of all traces that the samplers with traceidratio record: a number from 0 to 1.'),
  METRICS_PORT: wholeNumber(0, 65_535)
    .optional()
    .describe(
      'The port for GET /metrics, in the text format of Prometheus, without authentication. If the variable is unset, the server serves no metrics.',
    ),
  METRICS_HOST: z.string().default('127.0.0.1').describe('The IP address that the server listens on at METRICS_PORT.'),
  METRICS_ALLOWED_HOSTS: list.describe(
    'The host names that a request to METRICS_PORT may have in its Host header, separated by commas. The server also allows localhost and IP addresses. The server refuses other host names, to protect the metrics from web pages.',
  ),
  ACCOUNT_DELETION_GRACE_DAYS: wholeNumber(0, 36_500)
    .default(30)
    .describe(
      'How many days the server keeps an account after somebody has asked to delete the account. After this time, npm run cleanup erases the account.',
    ),
  USER_DELETION_GRACE_HOURS: wholeNumber(0, 876_000)
    .default(48)
    .describe(
      'How many hours the server keeps a user after somebody has asked to delete the user. After this time, npm run cleanup erases the user.',
    ),
  EXTENSIONS: list.describe(
    'The modules of extensions, separated by commas: file paths or packages. Set the same value for servers, workers and the command line.',
  ),
  TOLERATED_MIGRATIONS: list.describe(
    'Migrations of a newer version of the server, separated by commas, such as core/0042_add_a_column.sql. This version of the server starts although the database has these migrations. See docs/upgrading.md.',
  ),
  READINESS_CRON_MAX_AGE_MINUTES: wholeNumber(1)
    .default(120)
    .describe(
      'The maximum time in minutes since the last heartbeat of the scheduled jobs. If the last heartbeat is older, /ready answers 503.',
    ),
  SHUTDOWN_DELAY_MS: wholeNumber(0, 600_000)
    .default(5000)
    .describe(
      'How many milliseconds the server still accepts requests after SIGTERM, while /ready answers 503. Choose a longer time than the load balancer needs to notice the 503. After SIGINT, the server stops without this delay.',
    ),
  SHUTDOWN_TIMEOUT_MS: wholeNumber(1, 600_000)
    .default(20_000)
    .describe(
      'How many milliseconds after the end of SHUTDOWN_DELAY_MS the server waits for running requests and jobs. If a request or job still runs after this time, the process ends with status 1.',
    ),
});

type Settings = z.output<typeof settings>;

export interface Config extends Settings {
  BASE_URL: string;
  /**
   * Whether the environment sets BASE_URL. If not, the server only guesses the value, and browsers may use another
   * origin.
   */
  isBaseUrlSet: boolean;
}

export class ConfigError extends Error {}

/** Reads the settings from environment variables. An empty variable counts as unset. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = settings.safeParse(given);
  if (result.success) {
    const { BASE_URL, PORT, DATABASE_URL } = result.data;
    for (const name of ['DATABASE_DIRECT_URL', 'DATABASE_READ_URL'] as const) {
      if (DATABASE_URL === undefined && result.data[name] !== undefined) {
        throw new ConfigError(`Invalid settings: ${name} needs DATABASE_URL`);
      }
    }
    return { ...result.data, BASE_URL: BASE_URL ?? `http://localhost:${PORT}`, isBaseUrlSet: BASE_URL !== undefined };
  }
  const problems = result.error.issues.map(issue => `${issue.path.join('.')} ${issue.message}`);
  throw new ConfigError(`Invalid settings: ${problems.join('; ')}`);
}
