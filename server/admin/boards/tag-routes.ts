import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import {
  addTag,
  removeTag,
  requireTagOfId,
  type TagFields,
  type TagListing,
  updateTag,
} from '../../domain/tags/edit-tags.ts';
import { listTagsInUse, readTagInUse } from '../../domain/tags/list-tags-in-use.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, idIn, noticeIn, type Problem, problemOf, wordIn } from '../shell/form.ts';
import { askFor, formTokenOf, frameOf } from '../shell/frame.ts';
import { nameAccount, requireAdminAccount, requireSession } from '../shell/session.ts';
import { showCount, shownName } from '../shell/show.ts';
import { type BoardHeader, headerOf, pathOnBoard } from './board-page.ts';
import { onBoard } from './on-board.ts';
import { type ListPage, pageOf, placeIn } from './pages-of-list.ts';

interface PresentedTag {
  /** As parts/tag shows it on the board. */
  tag: { name: string; color: string };
  ideas: string;
  editPath: string;
  removePath: string;
}

interface FormData {
  board: BoardHeader;
  form: TagFields;
  formToken: string;
  problem?: string | undefined;
}

interface ListData extends FormData {
  tags: ListPage<PresentedTag>;
  addPath: string;
  notice?: string | undefined;
}

interface TagData extends FormData {
  tag: PresentedTag;
  listPath: string;
}

const listPage = definePage<ListData>('admin/boards/tags');
const tagPage = definePage<TagData>('admin/boards/tag');

const perPage = 50;

const notices = { added: 'The tag is added.', saved: 'The tag is saved.', removed: 'The tag is removed.' };

/** A color that can be seen in light and dark. */
const emptyForm: TagFields = { name: '', color: '#0f766e' };

/** The tags of a board, for the owners and admins of its account. */
export function serveTags(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];
  const path = '/admin/boards/:slug/tags';

  app.get(path, { onRequest }, async (request, reply) =>
    showList(request, reply, requireAdminAccount(request), { notice: noticeIn(request, notices) }),
  );

  app.post(path, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const form = readForm(request.body);
    try {
      await onBoard(server, request, account, (admin, board) => addTag(admin, board, form));
      return backToList(request, reply, account, 'added');
    } catch (error) {
      return showList(request, reply, account, { form, problem: problemOf(error) });
    }
  });

  app.get(`${path}/:id`, { onRequest }, async (request, reply) =>
    showTag(request, reply, requireAdminAccount(request), {}),
  );

  app.post(`${path}/:id`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const form = readForm(request.body);
    try {
      await onBoard(server, request, account, async (admin, board) =>
        updateTag(admin, await requireTagOfId(admin, board, idIn(request)), form),
      );
      return backToList(request, reply, account, 'saved');
    } catch (error) {
      return showTag(request, reply, account, { form, problem: problemOf(error) });
    }
  });

  app.get(`${path}/:id/remove`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const { board, listing } = await read(request, account);
    const { tag, ideas, removePath } = presentTag(request, account, board.slug, listing);
    return askFor(request, reply, account, {
      title: 'Remove a tag',
      verb: 'Remove',
      name: tag.name,
      explanation:
        listing.idea_count === 0
          ? 'No idea has it.'
          : `It is taken from ${ideas}, which cannot be undone. The ideas themselves stay.`,
      action: removePath,
      button: 'Remove the tag',
      isDangerous: true,
      back: { label: 'Keep it', href: pathOnBoard(request, account, board.slug, 'tags') },
    });
  });

  app.post(`${path}/:id/remove`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    await onBoard(server, request, account, async (admin, board) =>
      removeTag(admin, await requireTagOfId(admin, board, idIn(request))),
    );
    return backToList(request, reply, account, 'removed');
  });

  function read(request: FastifyRequest, account: AccountOfUser) {
    return onBoard(server, request, account, async (admin, board) => ({
      board,
      listing: await readTagInUse(admin, board, idIn(request)),
    }));
  }

  async function showList(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { form, problem, notice }: { form?: TagFields; problem?: Problem; notice?: string | undefined },
  ) {
    const { board, tags } = await onBoard(server, request, account, async (admin, board) => ({
      board,
      tags: await listTagsInUse(admin, board, placeIn(request, perPage)),
    }));
    const { slug } = board;
    const shown = tags.map(tag => presentTag(request, account, slug, tag));
    const pathOfPage = (page: Record<string, string>) => pathOnBoard(request, account, slug, 'tags', page);
    const data: ListData = {
      board: headerOf(request, account, board, { current: 'tags', now: server.clock.now() }),
      tags: pageOf(request, shown, { perPage, next: 'More tags', pathOfPage }),
      form: form ?? emptyForm,
      addPath: pathOnBoard(request, account, slug, 'tags'),
      formToken: formTokenOf(request),
      notice,
      problem: problem?.message,
    };
    return sendPage(
      reply,
      listPage(frameOf(request, account, `${data.board.name}: Tags`), data),
      problem?.status ?? 200,
    );
  }

  async function showTag(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { form, problem }: { form?: TagFields; problem?: Problem },
  ) {
    const { board, listing } = await read(request, account);
    const data: TagData = {
      board: headerOf(request, account, board, { current: 'tags', now: server.clock.now() }),
      tag: presentTag(request, account, board.slug, listing),
      form: form ?? listing,
      listPath: pathOnBoard(request, account, board.slug, 'tags'),
      formToken: formTokenOf(request),
      problem: problem?.message,
    };
    return sendPage(reply, tagPage(frameOf(request, account, `${data.board.name}: Tag`), data), problem?.status ?? 200);
  }
}

function readForm(body: unknown): TagFields {
  return { name: fieldOf(body, 'name'), color: fieldOf(body, 'color').trim() };
}

function presentTag(
  request: FastifyRequest,
  account: AccountOfUser,
  slug: string,
  { id, name, color, idea_count: count }: TagListing,
): PresentedTag {
  return {
    tag: { name: shownName(name), color },
    ideas: count === 0 ? 'no ideas' : showCount(count, 'idea'),
    editPath: pathOnBoard(request, account, slug, `tags/${id}`),
    removePath: pathOnBoard(request, account, slug, `tags/${id}/remove`),
  };
}

function backToList(
  request: FastifyRequest,
  reply: FastifyReply,
  account: AccountOfUser,
  notice: keyof typeof notices,
) {
  return reply.redirect(pathOnBoard(request, account, wordIn(request, 'slug'), 'tags', { notice }), 303);
}
