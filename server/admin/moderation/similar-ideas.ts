import { findSimilarIdeasInTime } from '../../domain/ideas/find-similar.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import type { Actor } from '../../domain/operation.ts';
import type { Visit } from '../../pages/shell/visit.ts';
import { listedIdea } from './idea-list-routes.ts';

/**
 * Finds published ideas that may ask for the same as an idea. Call this outside a transaction, because the search needs
 * a connection of its own.
 */
export async function presentSimilar(
  { server }: Visit,
  actor: Actor,
  { id: ideaId, title, body }: Pick<IdeaView, 'id' | 'title' | 'body'>,
  hrefOf: (id: number) => string,
) {
  const similar = await findSimilarIdeasInTime(server.database, actor, { title, body, ideaId });
  return similar.map(idea => listedIdea(idea, hrefOf(idea.id)));
}
