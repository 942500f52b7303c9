import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Route } from '../../contract/routes.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { recordUsage, type Use } from '../domain/usage/record-usage.ts';
import type { Principal } from './find-tokens.ts';
import type { RouteInput } from './ts-rest.ts';

export interface UsageCounter {
  /** Counts an authorized request. Counts only those parameters and fields that the contract defines. */
  count(principal: Principal, route: Route, input: Omit<RouteInput, 'params'>): void;
  /** Counts a request if it was authorized. Ignores other requests. */
  countRequest(request: FastifyRequest): void;
  /** Writes the counts to the database. If the server cannot write some counts, it keeps them for the next call. */
  flush(): Promise<void>;
  /** Stops the timer and writes the last counts. */
  close(): Promise<void>;
}

/** How often a server writes its counts to the database. A crash loses the counts since the last write. */
const flushIntervalMs = 30_000;

/** The maximum number of pairs of a token and an operation in memory. They take at most about 10 MB. */
const mostUses = 10_000;

/** The maximum number of rows of one statement. */
const batchSize = 1_000;

/**
 * Counts which operations, parameters and fields each token uses. Counts in memory, so that a request needs no
 * additional SQL statement.
 */
export function buildUsageCounter({
  database,
  clock,
  logger,
}: Pick<ServerDependencies, 'database' | 'clock' | 'logger'>): UsageCounter {
  let uses = new Map<string, Use>();
  let lostCount = 0;
  let flushing: Promise<void> = Promise.resolve();

  function useOf(accountId: number, tokenId: number, operation: string): Use | undefined {
    const key = `${tokenId} ${operation}`;
    let use = uses.get(key);
    if (!use && uses.size < mostUses) {
      use = { accountId, tokenId, operation, requestCount: 0, parameters: new Set(), fields: new Set() };
      uses.set(key, use);
    }
    return use;
  }

  function count({ account, tokenId }: Principal, route: Route, { query, body, headers }: Omit<RouteInput, 'params'>) {
    const names = namesOf(route);
    const use = useOf(account.id, tokenId, names.operation);
    if (!use) {
      lostCount += 1;
      return;
    }
    use.requestCount += 1;
    addGiven(use.parameters, names.query, query);
    addGiven(use.parameters, names.headers, headers);
    addGiven(use.fields, names.fields, body);
  }

  /** Keeps the counts of a failed write for the next write. */
  function keep(unwritten: readonly Use[]) {
    for (const { accountId, tokenId, operation, requestCount, parameters, fields } of unwritten) {
      const use = useOf(accountId, tokenId, operation);
      if (!use) {
        lostCount += requestCount;
        continue;
      }
      use.requestCount += requestCount;
      use.parameters = use.parameters.union(parameters);
      use.fields = use.fields.union(fields);
    }
  }

  async function write() {
    const due = [...uses.values()];
    uses = new Map();
    for (let written = 0; written < due.length; written += batchSize) {
      try {
        await recordUsage(database, due.slice(written, written + batchSize), clock.now());
      } catch (err) {
        keep(due.slice(written));
        logger.warn({ err }, 'could not store the usage of tokens');
        break;
      }
    }
    if (lostCount === 0) return;
    logger.warn({ requests: lostCount }, 'the usage lacks some requests, because too many tokens were active');
    lostCount = 0;
  }

  function flush(): Promise<void> {
    flushing = flushing.then(write);
    return flushing;
  }

  const timer = setInterval(flush, flushIntervalMs).unref();
  return {
    count,
    countRequest(request) {
      const route = request.routeOptions.config.tsRestRoute;
      if (request.admission && route) count(request.admission.principal, route, request);
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

interface Names {
  /** The operation as method and path, such as `GET /api/v1/ideas/{id}`. */
  operation: string;
  query: readonly string[];
  headers: readonly string[];
  fields: readonly string[];
}

const namesByRoute = new WeakMap<Route, Names>();

/** Returns the names of the parameters, headers and fields that the contract defines for a route. */
function namesOf(route: Route): Names {
  let names = namesByRoute.get(route);
  if (!names) {
    names = {
      operation: `${route.method} ${route.path.replace(/:(\w+)/g, '{$1}')}`,
      query: fieldsOf(route.query),
      headers: Object.keys(route.headers ?? {}),
      fields: 'body' in route ? fieldsOf(route.body) : [],
    };
    namesByRoute.set(route, names);
  }
  return names;
}

function fieldsOf(schema: unknown): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/**
 * Adds to `given` those of the `names` that `value` has as properties. `value` comes from a client and may have any
 * form.
 */
function addGiven(given: Set<string>, names: readonly string[], value: unknown) {
  if (typeof value !== 'object' || value === null) return;
  for (const name of names) if (Object.hasOwn(value, name)) given.add(name);
}
