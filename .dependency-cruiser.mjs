/**
 * The allowed imports. `npm run check:imports` fails if an import is not in the table below, leads nowhere, or closes a
 * cycle. An import of a type counts like an import of code, because the parser does not distinguish them.
 */

/**
 * Each row is a folder or file, and the list of its allowed imports: paths, packages, and `node` for the modules of
 * Node. A path ends with `/` or `.ts`. It begins in server/, unless it begins with contract/. A folder may also import
 * its own files.
 */
const rows = {
  'contract/': 'zod @ts-rest/core @ts-rest/open-api',

  // The client may import nothing, so that the package @idea-board/client has no dependency.
  'client/': '',
  'client/testing/': '@idea-board/client @idea-board/contract node',
  'scripts/openapi-diff/': 'commander jsoncompat node yaml',

  'server/text/': 'i18next linkify-it node',
  'server/entities/': 'contract/events.ts contract/grants.ts contract/status.ts @mikro-orm/core',
  'server/database/': `entities/ kept-secret.ts observability/active-span.ts
    @mikro-orm/core @mikro-orm/postgresql graphile-worker kysely node pg pino umzug`,
  'server/outgoing/': 'config.ts text/ ipaddr.js node',
  'server/observability/': `app-key.ts config.ts database/ dependencies.ts domain/users/canonical-address.ts entities/
    contract/grants.ts
    @opentelemetry/api @opentelemetry/exporter-trace-otlp-http @opentelemetry/resources @opentelemetry/sdk-trace
    @sentry/node ipaddr.js node pino prom-client zod`,

  // The domain imports names, limits and inferred types of the contract. It does not validate requests and does not
  // build responses.
  'server/domain/': `config.ts database/ entities/ observability/audit-entries.ts observability/audit-log.ts outgoing/
    text/ contract/errors.ts contract/events.ts contract/grants.ts contract/idea.ts contract/limits.ts contract/status.ts
    contract/text.ts @mikro-orm/postgresql argon2 ipaddr.js kysely node otpauth sharp @zxcvbn-ts/language-common`,

  'server/http/': `config.ts database/ dependencies.ts domain/ entities/ observability/ contract/
    @fastify/accept-negotiator @ts-rest/core @ts-rest/fastify fastify find-my-way ipaddr.js node zod`,
  'server/endpoints/': `dependencies.ts domain/ http/ observability/readiness.ts outgoing/address-guard.ts contract/
    @ts-rest/fastify`,
  'server/mcp/': `config.ts dependencies.ts domain/ http/ contract/
    @modelcontextprotocol/server @ts-rest/core @ts-rest/fastify fastify leven zod`,
  'server/oauth/': `config.ts dependencies.ts domain/ http/ observability/ outgoing/ pages/shell/ text/ contract/errors.ts
    fastify node oidc-provider`,
  'server/openid/': 'config.ts domain/ outgoing/ node openid-client',
  'server/pages/': `config.ts dependencies.ts domain/ http/ observability/error-reporter.ts openid/ text/ contract/
    @fastify/cookie @fastify/formbody @fastify/helmet @scalar/fastify-api-reference eta fastify marked negotiator node zod`,
  'server/admin/': `config.ts dependencies.ts domain/ entities/ http/ oauth/consents.ts openid/ outgoing/ pages/ text/ contract/
    @fastify/multipart csv-stringify fastify node uqr zod`,

  'server/operator/': `admin/sign-in/own-password.ts database/ dependencies.ts domain/ http/method-not-allowed.ts
    observability/ pages/ text/ contract/openapi/info.ts fastify`,

  'server/delivery/': `config.ts database/ dependencies.ts domain/ entities/ observability/ outgoing/ text/
    contract/events.ts graphile-worker kysely node nodemailer zod`,
  'server/jobs/': `config.ts database/ delivery/ dependencies.ts domain/ extensions/ observability/ outgoing/
    graphile-worker kysely node pg pino`,
  'server/extensions/': `database/ dependencies.ts domain/ http/ contract/
    fastify graphile-worker kysely node pino zod`,
  'server/demo/': 'database/ dependencies.ts domain/ entities/ node zod',
  'server/transfer/': `database/ domain/ entities/ contract/comments.ts contract/idea.ts contract/ideas.ts
    contract/limits.ts contract/notes.ts contract/status.ts contract/text.ts csv-parse kysely node zod`,
  'server/backup/': 'database/ domain/ kysely node pg zod',
  'server/cli/': `app-key.ts backup/ config.ts database/ delivery/chat/post-message.ts delivery/mail/mailer.ts domain/ entities/ extensions/ jobs/ observability/ outgoing/
    production-secrets.ts transfer/ contract/events.ts contract/grants.ts contract/limits.ts contract/status.ts commander kysely node zod`,

  // The files that assemble the server and the worker.
  'server/config.ts': 'contract/limits.ts ipaddr.js zod',
  'server/dependencies.ts': 'config.ts database/ domain/ extensions/ observability/ pino',
  'server/open-dependencies.ts':
    'app-key.ts config.ts database/ delivery/ dependencies.ts domain/ extensions/ observability/ pino',
  'server/app.ts': `admin/ config.ts delivery/ dependencies.ts domain/ endpoints/ extensions/ http/ mcp/ oauth/ openid/ operator/ pages/
    contract/
    @ts-rest/fastify fastify node`,
  'server/run-server.ts': `app.ts config.ts database/ delivery/ demo/ dependencies.ts domain/ extensions/ http/ jobs/
    observability/ open-dependencies.ts production-secrets.ts run-until-signal.ts fastify node pino`,
  'server/launch.ts': `end-process.ts mcp/answer-with-sdk.ts observability/report-fatal.ts run-server.ts
    start-failure.ts node`,
  'server/main.ts': 'launch.ts',
  'server/worker.ts': 'launch.ts',
  'server/run-until-signal.ts': 'config.ts end-process.ts observability/ node pino',
  'server/start-failure.ts': 'config.ts database/ extensions/ observability/',
  'server/app-key.ts': 'config.ts kept-secret.ts node pino',
  'server/kept-secret.ts': 'config.ts node',
  'server/production-secrets.ts': 'config.ts',
};

const regexOf = path => `^${path.replaceAll('.', '\\.')}${path.endsWith('/') ? '' : '$'}`;
const inServer = path => (path.startsWith('contract/') ? path : `server/${path}`);
const inPackages = name => {
  // The path of a package of this repository does not exist before its build, so this pattern matches the package's
  // name.
  if (name.startsWith('@idea-board/')) return `^${name}($|/)`;
  return `(^|/)node_modules/${name.replaceAll('.', '\\.')}/`;
};

const allowed = Object.entries(rows).flatMap(([of, text]) => {
  const words = text.split(/\s+/).filter(word => word !== '' && word !== 'node');
  const isPath = word => /\/$|\.ts$/.test(word);
  const paths = [...(of.endsWith('/') ? [of] : []), ...words.filter(isPath).map(inServer)].map(regexOf);
  const packages = words.filter(word => !isPath(word)).map(inPackages);
  const from = { path: regexOf(of) };
  const toNode = /\bnode\b/.test(text) ? [{ from, to: { dependencyTypes: ['core'] } }] : [];
  return [{ from, to: { path: [...paths, ...packages] } }, ...toNode];
});

export default {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '^@idea-board/' } },
  ],
  // The tests, and the scripts outside openapi-diff, may import anything.
  allowed: [...allowed, { from: { path: '^(scripts|test)/', pathNot: '^scripts/openapi-diff/' }, to: {} }],
  allowedSeverity: 'error',
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    moduleSystems: ['es6'],
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      conditionNames: ['import', 'node', 'types'],
      exportsFields: ['exports'],
    },
  },
};
