import type { FastifyReply, FastifyRequest } from 'fastify';

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Answers a path for which Fastify can look up no route: broken percent-encoding, a parameter that is too long. Fastify
 * runs no hooks then, so the ones that every request has to pass run here, and those that look at every answer.
 */
export function answerUnroutable(answerError: ErrorHandler, hooks: Hook[], answerHooks: Hook[]) {
  return async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    let refusal = error;
    try {
      for (const hook of hooks) await hook(request, reply);
    } catch (earlier) {
      refusal = earlier;
    }
    answerError(refusal, request, reply);
    for (const hook of answerHooks) await hook(request, reply);
  };
}
