import type { FastifyError, FastifyInstance } from 'fastify';
import { inTime } from '../database/in-time.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { answerErrors } from '../http/error-handler.ts';
import { buildContext } from './context.ts';
import type { Extension } from './extension.ts';
import { ExtensionError, reasonOf } from './extension-error.ts';

/** Shorter than the time that Fastify gives a plugin, whose message would not name the extension. */
const registrationTimeoutMs = 8_000;

/**
 * Registers the routes of each extension under /ext/<name>. They are outside the Agent API: without its authentication,
 * its document and its schemas, but with the limit by address, the request id, the log and the shape of errors. What an
 * extension does to its part of the server, such as another body parser, stays there. Call it before the paths are
 * closed to other methods.
 */
export async function serveExtensions(
  app: FastifyInstance,
  server: ServerDependencies,
  timeoutMs = registrationTimeoutMs,
): Promise<void> {
  for (const extension of server.extensions) {
    if (!extension.register) continue;
    try {
      await inTime(
        app.register(routesOf(extension, server), { prefix: `/ext/${extension.name}` }),
        timeoutMs,
        'register()',
      );
    } catch (error) {
      throw new ExtensionError(extension.name, `cannot be registered: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function routesOf(extension: Extension, server: ServerDependencies) {
  const answer = answerErrors(server.reporter);
  return async (scope: FastifyInstance) => {
    scope.setChildLoggerFactory((logger, bindings, options) =>
      logger.child({ ...bindings, extension: extension.name }, options),
    );
    scope.setErrorHandler((error, request, reply) => answer(translate(error as FastifyError), request, reply));
    await extension.register?.(scope, buildContext(server, extension));
  };
}

/** A route may bring a schema, as Fastify's do: what does not match it is told as everywhere else. */
function translate(error: FastifyError): unknown {
  if (error.code !== 'FST_ERR_VALIDATION' || !error.validation) return error;
  const { validation, validationContext = 'body' } = error;
  const part = validationContext === 'querystring' ? 'query' : validationContext;
  return new DomainError(
    'validation_failed',
    validation.map(({ instancePath, keyword, message = 'does not match the schema' }) => ({
      path: [part, ...instancePath.split('/').slice(1)],
      code: keyword,
      message,
    })),
  );
}
