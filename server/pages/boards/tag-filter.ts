import type { FastifyRequest } from 'fastify';
import type { BoardView } from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { pathOn } from './opened-board.ts';

/**
 * Finds the tag that a query names by its name or its id. Tag names are unique on a board, ignoring case. If a text is
 * the name of one tag and the id of another, the function returns the tag with this name.
 */
export function findTag({ tags }: Pick<BoardView, 'tags'>, wanted: string) {
  const name = wanted.toLowerCase();
  const tag = tags.find(one => one.name.toLowerCase() === name) ?? tags.find(one => String(one.id) === wanted);
  if (!tag) throw new DomainError('not_found');
  return tag;
}

/** Returns a function that returns the path of the list of ideas with a tag. */
export function tagPathsOf(request: FastifyRequest) {
  return (name: string) => pathOn(request, '', { tag: name });
}
