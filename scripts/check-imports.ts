/** Fails when a file imports against the direction in which the parts of the project depend on each other. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/**
 * For each part, what it may import: parts and packages by their beginnings. `type ` before one allows its types
 * alone. The first rule whose part a file belongs to is the one that holds.
 */
const rules: { part: string; may: string[] }[] = [
  // ts-rest is imported here, in contract/openapi.ts, server/http/ts-rest.ts and client/raw.ts, so that it can be replaced.
  { part: 'contract/routes.ts', may: ['contract/', 'zod', '@ts-rest/core'] },
  { part: 'contract/openapi.ts', may: ['contract/', '@ts-rest/open-api'] },
  { part: 'contract/', may: ['contract/', 'zod'] },
  // Whoever imports the main entry gets neither the contract nor what the contract needs.
  { part: 'client/raw.ts', may: ['client/', 'contract/', '@ts-rest/core'] },
  { part: 'client/validation.ts', may: ['client/', 'contract/', 'type zod'] },
  { part: 'client/', may: ['client/'] },
  { part: 'server/entities/', may: ['server/entities/', '@mikro-orm/core', 'type contract/'] },
  {
    part: 'server/domain/',
    may: [
      'server/domain/',
      'server/entities/',
      'server/events/',
      'server/database/add-job.ts',
      'server/database/query.ts',
      'server/database/sql.ts',
      'server/database/tables.ts',
      'type server/database/',
      'contract/errors.ts',
      'contract/events.ts',
      'contract/grants.ts',
      'contract/status.ts',
      'contract/text.ts',
      'type contract/',
      '@mikro-orm/',
      'kysely',
      '@zxcvbn-ts/language-common',
      'argon2',
      'node:',
      'type server/config.ts',
      'type server/observability/',
    ],
  },
  {
    part: 'server/database/',
    may: [
      'server/database/',
      'server/entities/',
      'server/kept-secret.ts',
      '@mikro-orm/',
      'kysely',
      'pg',
      'umzug',
      'graphile-worker',
      'type pino',
      'node:',
    ],
  },
  {
    part: 'server/extensions/',
    may: [
      'server/extensions/',
      'server/endpoints/',
      'server/domain/',
      'server/database/',
      'server/http/error-handler.ts',
      'contract/',
      'type server/',
      'type fastify',
      'type pino',
      'kysely',
      'graphile-worker',
      'zod',
      'node:',
    ],
  },
  {
    part: 'server/endpoints/',
    may: [
      'server/endpoints/',
      'server/domain/',
      'server/http/',
      'server/observability/',
      'type server/dependencies.ts',
      'contract/',
      'type zod',
    ],
  },
  {
    part: 'server/mcp/',
    may: [
      'server/mcp/',
      'server/domain/domain-error.ts',
      'server/http/',
      'contract/',
      'type server/',
      'type fastify',
      '@modelcontextprotocol/server',
      'zod',
    ],
  },
  {
    part: 'server/admin/',
    may: [
      'server/admin/',
      'server/domain/',
      'server/pages/',
      'server/entities/chat-channel.ts',
      'server/events/address-guard.ts',
      'server/events/chat/chat-event-types.ts',
      'server/events/outgoing-request.ts',
      'server/events/plain-text.ts',
      'server/events/idea-url.ts',
      'server/events/people/address-token.ts',
      'server/events/people/mail-content.ts',
      'server/http/audit-refusals.ts',
      'server/http/rate-limit.ts',
      'server/entities/membership.ts',
      'server/events/secret-box.ts',
      'contract/events.ts',
      'contract/grants.ts',
      'contract/status.ts',
      'contract/text.ts',
      'type server/',
      '@fastify/cookie',
      '@fastify/formbody',
      'type fastify',
      'zod',
      'node:',
    ],
  },
  {
    part: 'server/oauth/',
    may: [
      'server/oauth/',
      'server/domain/',
      'server/http/',
      'server/pages/page.ts',
      'server/events/address-guard.ts',
      'server/events/outgoing-request.ts',
      'contract/errors.ts',
      'type contract/',
      'type server/',
      'type fastify',
      'type oidc-provider',
      'node:',
    ],
  },
  {
    part: 'server/pages/',
    may: [
      'server/pages/',
      'server/domain/',
      'server/html.ts',
      'server/events/plain-text.ts',
      'server/http/',
      'contract/',
      'type server/',
      'eta',
      '@fastify/helmet',
      '@scalar/fastify-api-reference',
      'fastify',
      'zod',
      'node:',
    ],
  },
  { part: 'server/http/ts-rest.ts', may: ['server/domain/', 'contract/', 'type fastify', '@ts-rest/', 'zod'] },
  {
    part: 'server/http/',
    may: [
      'server/http/',
      'server/domain/',
      'server/database/',
      'contract/',
      'type server/',
      'fastify',
      'zod',
      'find-my-way',
      'node:',
    ],
  },
];

/** Parts that are nobody's to import but the files named. */
const ends: { part: string; importer: string }[] = [{ part: 'server/admin/', importer: 'server/app.ts' }];

const problems: string[] = [];
for (const directory of ['contract', 'client', 'server']) {
  for (const entry of readdirSync(`${root}/${directory}`, { recursive: true, encoding: 'utf8' })) {
    const file = `${directory}/${entry}`;
    if (!file.endsWith('.ts') || file.includes('node_modules/') || file.includes('/dist/')) continue;
    problems.push(...problemsOf(file));
  }
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function problemsOf(file: string): string[] {
  return [...problemsOfRule(file), ...problemsOfEnds(file)];
}

function problemsOfEnds(file: string): string[] {
  const others = ends.filter(({ part, importer }) => file !== importer && !file.startsWith(part));
  const targets = importsOf(file).map(({ target }) => target);
  return targets
    .filter(target => others.some(({ part }) => target.startsWith(part)))
    .map(target => `${file} may not import ${target}`);
}

function problemsOfRule(file: string): string[] {
  const rule = rules.find(({ part }) => file.startsWith(part));
  if (!rule) return [];
  const found: string[] = [];
  for (const { isType, target } of importsOf(file)) {
    const isAllowed = rule.may.some(allowed =>
      allowed.startsWith('type ') ? isType && target.startsWith(allowed.slice(5)) : target.startsWith(allowed),
    );
    if (!isAllowed) found.push(`${file} may not import ${isType ? 'a type of ' : ''}${target}`);
  }
  return found;
}

function importsOf(file: string): { isType: boolean; target: string }[] {
  const text = readFileSync(`${root}/${file}`, 'utf8');
  const statements = text.matchAll(/^(?:import|export)\s(?:([^'";]*?)\sfrom\s)?'([^']+)'/gm);
  return [...statements].map(([, clause = '', target = '']) => ({
    isType: isTypeClause(clause),
    target: target.startsWith('.') ? relative(root, resolve(root, dirname(file), target)) : target,
  }));
}

/** `type { … }`, or a list in which every name is a type. */
function isTypeClause(clause: string): boolean {
  if (clause.startsWith('type ')) return true;
  const names = /^\{([^}]*)\}$/.exec(clause.trim())?.[1];
  return names?.split(',').every(name => /^\s*(type\s.*)?$/.test(name)) ?? false;
}
