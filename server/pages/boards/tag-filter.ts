import type { FastifyRequest } from 'fastify';
import type { BoardView } from '../../domain/boards/read-board.ts';
import { shortLine } from '../../text/plain-text.ts';
import { loadTemplate } from '../shell/template.ts';
import { pathOn } from './opened-board.ts';

type Tag = BoardView['tags'][number];

/**
 * Finds the tag that a query names by its name or its id. Tag names are unique on a board, ignoring case. If a text is
 * the name of one tag and the id of another, the function returns the tag with this name.
 */
export function findTag({ tags }: Pick<BoardView, 'tags'>, wanted: string | undefined): Tag | undefined {
  if (wanted === undefined) return undefined;
  const name = wanted.toLowerCase();
  return tags.find(one => one.name.toLowerCase() === name) ?? tags.find(one => String(one.id) === wanted);
}

const renderTag = loadTemplate<{ tag: { name: string; color: string } }>('pages/shell/parts/tag');

/** Returns the tag that filters a list, with the path of the list without this filter. */
export function presentTagFilter({ name, color }: Tag, removal: string) {
  return { chip: renderTag({ tag: { name: shortLine(name, 40), color } }), removal };
}

/** Returns a function that returns the path of the list of ideas with a tag. */
export function tagPathsOf(request: FastifyRequest) {
  return (name: string) => pathOn(request, '', { tag: name });
}
