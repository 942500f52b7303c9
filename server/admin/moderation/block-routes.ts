import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { word } from '../../../contract/text.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { placeOf } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { type BlockView, blockUser, listBlocks, mayBlock, unblockUser } from '../../domain/users/block-user.ts';
import { type PersonView, requirePerson } from '../../domain/users/read-people.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { fieldOf, idIn, noticeIn, problemOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import {
  administer,
  nameAccount,
  pathIn,
  requireModeratedAccount,
  requireSession,
  sessionOf,
} from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';
import { notices } from './notices.ts';
import { wayBack, wayOf } from './way-back.ts';

interface BlocksData {
  accountName: string;
  blocks: ShownBlock[];
  first: Link | undefined;
  next: Link | undefined;
  formToken: string;
  notice: string | undefined;
}

interface ShownBlock {
  name: string;
  role: string;
  reason: string;
  since: ShownTime;
  /** Undefined where the reader's role is not enough. */
  unblockPath: string | undefined;
}

interface BlockData {
  name: string;
  role: string;
  accountName: string;
  isBlocked: boolean;
  blockPath: string;
  unblockPath: string;
  reason: string;
  back: Link;
  formToken: string;
  problem: string | undefined;
}

const blocksPage = definePage<BlocksData>('admin/moderation/blocks');
const blockPage = definePage<BlockData>('admin/moderation/block');

const BlocksQuery = z.object({ cursor: word(500).optional() });

const blocksPerPage = 25;

/** Who is blocked in an account; and the forms that block somebody, from wherever what they wrote is shown. */
export function serveBlocks(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/blocks', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const query = readQuery(BlocksQuery, request.query);
    const place = placeOf(query, 'newest', blocksPerPage);
    const { rows, nextCursor } = await administer(server, request, admin => listBlocks(admin, account.id, place));
    const path = (parameters: Record<string, string>) => pathIn(request, account, '/admin/blocks', parameters);
    const data: BlocksData = {
      accountName: shownName(account.name),
      blocks: rows.map(block => presentBlock(request, account, block)),
      first: query.cursor === undefined ? undefined : { label: 'Back to the last blocked', href: path({}) },
      next: nextCursor === null ? undefined : { label: 'More people', href: path({ cursor: nextCursor }) },
      formToken: formTokenOf(request),
      notice: noticeIn(request, notices),
    };
    return sendPage(reply, blocksPage(frameOf(request, account, 'Who is blocked'), data));
  });

  app.get('/admin/blocks/:id', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    return showForm(request, reply, account);
  });

  app.post('/admin/blocks/:id', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const reason = fieldOf(request.body, 'reason');
    try {
      await administer(server, request, async admin => {
        const { id: userId } = await requirePerson(admin, account.id, idIn(request));
        await blockUser(admin, { accountId: account.id, userId }, reason);
      });
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showForm(request, reply.status(status), account, { reason, problem });
    }
    return reply.redirect(wayBack(request, account, '/admin/blocks', { notice: 'blocked' }), 303);
  });

  app.post('/admin/blocks/:id/end', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    await administer(server, request, async admin => {
      const { id: userId } = await requirePerson(admin, account.id, idIn(request));
      await unblockUser(admin, { accountId: account.id, userId });
    });
    return reply.redirect(wayBack(request, account, '/admin/blocks', { notice: 'unblocked' }), 303);
  });

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { reason = '', problem }: { reason?: string; problem?: string } = {},
  ) {
    const person = await administer(server, request, admin => requirePerson(admin, account.id, idIn(request)));
    const path = `/admin/blocks/${person.id}`;
    const back = wayBack(request, account, '/admin/blocks');
    checkMay(request, account, person, back);
    const data: BlockData = {
      name: shownName(person.name),
      role: roleOf(person),
      accountName: shownName(account.name),
      isBlocked: person.is_blocked,
      blockPath: pathIn(request, account, path, wayOf(request)),
      unblockPath: pathIn(request, account, `${path}/end`, wayOf(request)),
      reason,
      back: { label: 'Back', href: back },
      formToken: formTokenOf(request),
      problem,
    };
    const title = person.is_blocked ? 'Unblock a person' : 'Block a person';
    return sendPage(reply, blockPage(frameOf(request, account, title), data));
  }
}

/** So that nobody fills in a form that is refused; the operation checks it again. */
function checkMay(request: FastifyRequest, account: AccountOfUser, person: PersonView, back: string) {
  const isSelf = person.id === sessionOf(request).user.id;
  if (!isSelf && mayBlock(account.role, person.role)) return;
  const why = isSelf
    ? 'Nobody can block themselves.'
    : `${shownName(person.name)} is ${roleOf(person)} of the account, and your role is ${account.role}.`;
  throw new Refusal(403, 'Not for you', why, { label: 'Back', href: back });
}

function presentBlock(request: FastifyRequest, account: AccountOfUser, block: BlockView): ShownBlock {
  return {
    name: shownName(block.name),
    role: roleOf(block),
    reason: block.reason,
    since: showTime(new Date(block.created_at)),
    unblockPath: mayBlock(account.role, block.role)
      ? pathIn(request, account, `/admin/blocks/${block.user_id}/end`)
      : undefined,
  };
}

function roleOf({ role }: Pick<PersonView, 'role'>): string {
  return role ?? 'no member';
}
