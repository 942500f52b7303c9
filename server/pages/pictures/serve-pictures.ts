import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readPicture } from '../../domain/pictures/pictures.ts';

/** How long a browser keeps a picture, in seconds. A removed picture disappears after this time at the latest. */
const keptSeconds = 86_400;

/**
 * Serves the pictures of people. The path of a picture contains a random key, which only readers of a page with the
 * picture can know.
 */
export function servePictures({ database }: Pick<ServerDependencies, 'database'>) {
  return async (app: FastifyInstance) => {
    app.get<{ Params: { file: string } }>('/pictures/:file', async (request, reply) => {
      const [, key] = /^([\w-]{22})\.webp$/.exec(request.params.file) ?? [];
      const content = key && (await readPicture(database, key));
      if (!content) throw new DomainError('not_found');
      return reply
        .type('image/webp')
        .header('Cache-Control', `private, max-age=${keptSeconds}, immutable`)
        .send(content);
    });
  };
}
