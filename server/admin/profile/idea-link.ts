import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { ideaUrl } from '../../domain/ideas/idea-url.ts';
import { ideaPath } from '../../pages/public-board/present-idea.ts';
import { isModerator, pathIn, sessionOf } from '../shell/session.ts';

interface LinkedIdea {
  id: number;
  /** By their slugs. */
  account: string;
  board: string;
  /** Whether everybody may read it at the page of its board. */
  isPublic: boolean;
}

/**
 * Where whoever is signed in reads an idea: moderators among what they moderate, others on the board's page, which there is
 * for public boards, or wherever the settings say that ideas are read. Undefined where nothing shows it to them.
 */
export function ideaLink(
  request: FastifyRequest,
  config: Pick<Config, 'BASE_URL' | 'IDEA_URL'>,
  { id, account: slug, board, isPublic }: LinkedIdea,
): string | undefined {
  const account = sessionOf(request).user.accounts.find(one => one.slug === slug);
  if (isModerator(account)) return pathIn(request, account, `/admin/ideas/${id}`);
  const ownPage = ideaPath(board, id);
  const url = ideaUrl(config, board, id);
  if (url !== `${config.BASE_URL}${ownPage}`) return url;
  return isPublic ? ownPage : undefined;
}
