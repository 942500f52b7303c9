import type { FastifyError, FastifyInstance } from 'fastify';
import { inTime } from '../database/in-time.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { answerErrors } from '../http/error-handler.ts';
import { buildContext } from './context.ts';
import type { Extension } from './extension.ts';
import { ExtensionError, reasonOf } from './extension-error.ts';

/**
 * The time limit of register(). It is shorter than Fastify's own time limit, because Fastify's error message does not
 * name the extension.
 */
const registrationTimeoutMs = 8_000;

/**
 * Registers the routes of each extension under /ext/<name>. The rate limit of the IP address, the request id, the log
 * and the error format of the Agent API also apply to these routes. The authentication, the OpenAPI document and the
 * schemas of the Agent API do not apply. An extension can change only its own part of the server, for example the body
 * parser.
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

/** Converts Fastify's validation error for the schema of a route to the validation error of the Agent API. */
function translate(error: FastifyError): unknown {
  if (error.code !== 'FST_ERR_VALIDATION' || !error.validation) return error;
  const { validation, validationContext = 'body' } = error;
  const part = validationContext === 'querystring' ? 'query' : validationContext;
  const issues = validation.map(({ instancePath, keyword, message = 'does not match the schema' }) => ({
    path: [part, ...instancePath.split('/').slice(1)],
    code: keyword,
    message,
  }));
  return new DomainError('validation_failed', { issues });
}
