import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { word } from '../../../contract/text.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { pageRejectedIdeas, rejectedSort } from '../../domain/moderation/list-submissions.ts';
import { placeOf } from '../../domain/pagination.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { shortLine } from '../../text/plain-text.ts';
import { frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';
import { ideaPath } from './way-back.ts';

interface RejectedListData {
  ideas: { title: string; href: string; reason: string; board: string; author: string; rejected: ShownTime }[];
  queuePath: string;
  first: Link | undefined;
  next: Link | undefined;
}

const listPage = definePage<RejectedListData>('admin/moderation/rejected-list');

const RejectedQuery = z.object({ cursor: word(500).optional() });

const ideasPerPage = 25;
const maxReasonLength = 200;

/** What was rejected in an account, for those who moderate: no other list has it. */
export function serveRejectedList(app: FastifyInstance, server: ServerDependencies) {
  app.get('/admin/queue/rejected', { onRequest: [requireSession, nameAccount] }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const query = readQuery(RejectedQuery, request.query);
    const place = placeOf(query, rejectedSort, ideasPerPage);
    const { rows, nextCursor } = await administer(server, request, admin =>
      pageRejectedIdeas(admin, account.id, place),
    );
    const path = (parameters: Record<string, string>) => pathIn(request, account, '/admin/queue/rejected', parameters);
    const data: RejectedListData = {
      ideas: rows.map(idea => ({
        title: shortLine(idea.title, 200),
        href: pathIn(request, account, ideaPath(idea.id)),
        reason: shortLine(idea.reason, maxReasonLength, ''),
        board: shownName(idea.board_name),
        author: shownName(idea.author_name),
        rejected: showTime(new Date(idea.rejected_at)),
      })),
      queuePath: pathIn(request, account, '/admin/queue'),
      first: query.cursor === undefined ? undefined : { label: 'Back to the last rejected', href: path({}) },
      next: nextCursor === null ? undefined : { label: 'More ideas', href: path({ cursor: nextCursor }) },
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Rejected ideas'), data));
  });
}
